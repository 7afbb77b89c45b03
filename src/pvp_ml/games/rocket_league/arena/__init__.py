"""The field and its collision meshes."""
