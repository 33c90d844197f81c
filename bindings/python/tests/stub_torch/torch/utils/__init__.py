"""What torch has besides."""
