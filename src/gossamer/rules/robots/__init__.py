"""robots.txt (RFC 9309): parsed, matched and explained."""
