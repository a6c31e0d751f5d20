"""What widespread vocabularies say of their terms, and canonical names."""
