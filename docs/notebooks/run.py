"""Runs the notebooks of this folder and stores their outputs: small figures, no times, no names of
folders.

    pip install nbclient ipykernel
    python docs/notebooks/run.py                # all of them
    python docs/notebooks/run.py train.ipynb
"""

import base64
import io
import pathlib
import re
import sys

import nbformat
from nbclient import NotebookClient
from PIL import Image

FOLDER = pathlib.Path(__file__).resolve().parent
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
COLORS = 128  # of a figure: a third of the bytes, and no visible difference


def run(path: pathlib.Path) -> None:
    """Executes a notebook in its folder and replaces the file, unless a cell fails."""
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(FOLDER)}}
    NotebookClient(notebook, timeout=1800, resources=place, record_timing=False).execute()

    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = stored(cell.outputs)
    notebook.metadata = nbformat.from_dict(METADATA)
    nbformat.write(notebook, path)


def stored(outputs: list) -> list:
    """Joins what was printed in pieces, keeps the last state of progress bars, makes figures
    small."""
    kept: list = []
    for output in outputs:
        if output.output_type == "stream":
            output.text = re.sub(r"[^\n]*\r", "", output.text)
            if kept and kept[-1].get("name") == output.name:
                kept[-1].text += output.text
                continue
        figure = output.get("data", {}).get("image/png")
        if figure:
            output.data["image/png"] = small(figure)
        kept.append(output)
    return kept


def small(figure: str) -> str:
    """A PNG in base64 with fewer colours."""
    image = Image.open(io.BytesIO(base64.b64decode(figure))).convert("RGB").quantize(COLORS)
    data = io.BytesIO()
    image.save(data, "png", optimize=True)
    return base64.b64encode(data.getvalue()).decode()


if __name__ == "__main__":
    names = sys.argv[1:] or sorted(path.name for path in FOLDER.glob("*.ipynb"))
    for name in names:
        run(FOLDER / pathlib.Path(name).name)
        print(f"{name}: {(FOLDER / pathlib.Path(name).name).stat().st_size:,} bytes")
