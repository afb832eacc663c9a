"""The screens, each one module and one style sheet."""
