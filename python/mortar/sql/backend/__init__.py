"""What programs import from here: mortar.sql.backend.types."""
