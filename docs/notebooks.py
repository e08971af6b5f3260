"""Part of the building of the site: the notebooks of the examples are put beside its pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files


def on_files(files: Files, config: Any) -> Files:
    """Add every notebook as a file to download."""
    for notebook in sorted((Path(config.config_file_path).parent / "examples").glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{notebook.name}", abs_src_path=str(notebook)))
    return files
