"""Street sets in miniature, exactly as they are published: folders, file names, bit depths, palettes, label numbers."""

import json
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIZE = (40, 80)  # height, width
CITYSCAPES_IDS = range(34)
SYNTHIA_IDS = range(23)
PALETTE = np.random.default_rng(7).integers(0, 256, (256, 3), np.uint8)  # a colour for each number


def stripes(ids: range, seed: int, size: tuple[int, int] = SIZE) -> NDArray[np.uint8]:
    """Every number of `ids` as upright stripes in some order: [H, W]."""
    order = np.random.default_rng(seed).permutation(len(ids))
    columns = np.arange(size[1]) * len(ids) // size[1]
    return np.tile(np.asarray(ids)[order][columns], (size[0], 1)).astype(np.uint8)


def photo(labels: NDArray[np.uint8], seed: int) -> Image.Image:
    noise = np.random.default_rng(seed).integers(0, 30, (*labels.shape, 3))
    return Image.fromarray((PALETTE[labels] * 0.8 + noise).astype(np.uint8))


def save(image: Image.Image, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)


def write_cityscapes(root: Path, train: int = 4, val: int = 3) -> Path:
    """With everything that lies beside labelIds in the download, and a test set whose labels are empty."""
    cities = {"train": ("aachen", train), "val": ("frankfurt", val), "test": ("berlin", 1)}
    for part, (city, count) in cities.items():
        for number in range(count):
            name = f"{city}_{number:06d}_000019"
            labels = stripes(CITYSCAPES_IDS, 10 * len(part) + number)
            if part == "test":
                labels[:] = 3
            save(photo(labels, number), root / "leftImg8bit" / part / city / f"{name}_leftImg8bit.png")
            fine = root / "gtFine" / part / city
            save(Image.fromarray(labels), fine / f"{name}_gtFine_labelIds.png")
            save(Image.fromarray(PALETTE[labels]), fine / f"{name}_gtFine_color.png")
            save(Image.fromarray(labels.astype(np.uint16) * 1000), fine / f"{name}_gtFine_instanceIds.png")
            (fine / f"{name}_gtFine_polygons.json").write_text(json.dumps({"objects": []}))
    return root


def write_gta5(root: Path, count: int = 4) -> Path:
    for number in range(1, count + 1):
        labels = stripes(range(35), number)
        save(photo(labels, number), root / "images" / f"{number:05d}.png")
        save_palette(labels, root / "labels" / f"{number:05d}.png")
    return root


def save_palette(labels: NDArray[np.uint8], path: Path) -> None:
    image = Image.fromarray(labels)
    image.putpalette(PALETTE.tobytes())
    assert image.mode == "P"
    save(image, path)


def write_synthia(root: Path, count: int = 4) -> Path:
    """Class in the first channel, an instance number beyond eight bits in the second."""
    for number in range(count):
        labels = stripes(SYNTHIA_IDS, number)
        save(photo(labels, number), root / "RGB" / f"{number:07d}.png")
        save(Image.fromarray(PALETTE[labels]), root / "GT" / "COLOR" / f"{number:07d}.png")
        instances = 300 + labels.astype(np.uint16)
        write_wide_png(root / "GT" / "LABELS" / f"{number:07d}.png", np.stack([labels, instances, 0 * labels], 2))
    return root


def write_camvid(root: Path, count: int = 6) -> Path:
    """Half of it at dusk; of each half every third image is for the test."""
    lines = ["image,sequence,lighting,split"]
    for number in range(count):
        labels = stripes(range(11), number)
        labels[:2] = 255
        name, dusk = f"0001TP_{number:06d}", number % 2
        (root / "images").mkdir(parents=True, exist_ok=True)
        photo(labels, number).save(root / "images" / f"{name}.jpg")
        save(Image.fromarray(labels), root / "masks" / f"{name}.png")
        lines.append(f"{name},0001TP,{'dusk' if dusk else 'day'},{'test' if number >= 4 else 'train'}")
    (root / "labels.csv").write_text("\n".join(lines) + "\n")
    return root


def write_wide_png(path: Path, pixels: NDArray[np.integer]) -> None:
    """[H, W, 3] as a PNG of 16 bits a channel, its rows under the filters none, sub and up in turn."""
    height, width, _ = pixels.shape
    rows = np.frombuffer(pixels.astype(">u2").tobytes(), np.uint8).reshape(height, width * 6)
    left = np.concatenate([np.zeros((height, 6), np.uint8), rows[:, :-6]], 1)
    above = np.concatenate([np.zeros((1, width * 6), np.uint8), rows[:-1]])
    filtered = [rows, rows - left, rows - above]
    lines = b"".join(bytes([row % 3]) + filtered[row % 3][row].tobytes() for row in range(height))
    header = struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    chunks = [_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(lines)), _chunk(b"IEND", b"")]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))


def read_wide_png(path: Path) -> NDArray[np.uint16]:
    """What `write_wide_png` wrote, read back by its own rules: [H, W, 3]."""
    data, place, chunks = path.read_bytes(), 8, {}
    while place < len(data):
        length, kind = int.from_bytes(data[place : place + 4]), data[place + 4 : place + 8]
        chunks[kind] = data[place + 8 : place + 8 + length]
        place += 12 + length
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + width * 6)
    rows = np.zeros((height, width * 6), np.uint8)
    for row, line in enumerate(lines):
        kind, values = line[0], line[1:]
        before = rows[row - 1] if kind == 2 and row else 0
        rows[row] = np.cumsum(values.reshape(-1, 6), 0, np.uint8).ravel() if kind == 1 else values + before
    return np.frombuffer(rows.tobytes(), ">u2").reshape(height, width, 3).astype(np.uint16)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
