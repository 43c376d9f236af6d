"""The rebuild as the judge: an overlaid tree must be what a build of the changed sources installs."""
