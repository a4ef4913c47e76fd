"""What earlier versions wrote."""
