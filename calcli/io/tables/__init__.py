"""Tables: named columns of files, read as Arrow record batches."""
