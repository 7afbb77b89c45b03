"""What a run reports: metrics, live view, TensorBoard, warnings."""
