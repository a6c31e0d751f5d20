"""RDFa 1.1 and 1.0, in all host languages."""
