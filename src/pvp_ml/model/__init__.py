"""What a trained model is, and how it decides. No torch."""
