"""Records of what unchanged programs asked of files, which ``weir bench replay`` runs again."""
