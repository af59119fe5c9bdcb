"""What was released: drawn, recorded, compared, made consistent, and as tables."""
