"""What the options of the C library are called as keywords of connect(). Its errors name options, in
single quotes; what reaches a program of Python names the keyword."""

from __future__ import annotations

import re

# Keywords that stand for one option each.
OPTIONS = {
    "catalog": "catalog",
    "schema": "schema",
    "user_agent_entry": "user_agent",
    "transport": "transport",
    "username": "username",
    "password": "password",
    "_tls_trusted_ca_file": "tls_ca_file",
    "_tls_verify_hostname": "tls_verify_host",
    "connect_timeout_ms": "connect_timeout_ms",
    "read_timeout_ms": "read_timeout_ms",
    "page_rows": "page_rows",
    "page_bytes": "page_bytes",
    "proxy": "proxy",
    "no_proxy": "no_proxy",
    "proxy_from_env": "proxy_from_env",
    "idle_ms": "idle_ms",
    "max_reply_bytes": "max_reply_bytes",
    "use_arrow": "arrow",
    "_tls_client_cert_file": "tls_client_cert_file",
    "_tls_client_cert_key_file": "tls_client_key_file",
    "_tls_client_cert_key_password": "tls_client_key_password",
    "_retry_stop_after_attempts_count": "retry_attempts",
}

# The same for numbers of seconds, which are milliseconds below.
SECONDS = {
    "_socket_timeout": "read_timeout_ms",
    "_retry_delay_min": "retry_delay_min_ms",
    "_retry_delay_max": "retry_delay_max_ms",
    "_retry_stop_after_attempts_duration": "retry_total_ms",
}

_KEYWORDS = {
    **{option: f"'{name}' (in milliseconds)" for name, option in SECONDS.items()},
    **{option: f"'{name}'" for name, option in OPTIONS.items()},
    "port": "'_port'",
    "tls_verify": "'_tls_no_verify'",
}


def in_keywords(text: str) -> str:
    """An error's text with the names of keywords where it has those of options."""
    return re.sub(r"'(\w+)'", lambda found: _KEYWORDS.get(found[1], found[0]), text)
