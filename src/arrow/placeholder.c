typedef int mtr_placeholder;
