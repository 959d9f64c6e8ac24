"""What the timeline of a video shows: the curve of the area, point by point."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from endotransfer.testing.fixtures import MakeExperiment
from tests.clips import write_clip
from tests.served import Server, serving, train_two

FRAMES = 24
# For every predicted frame: whether the colour of the curve is there where its area says, 10 pixels below the top for
# the largest one and 14 above the bottom for none.
CURVE = """async () => {
  const { video } = await import("/page/video_state.js");
  const canvas = document.getElementById("timeline");
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = "var(--run0)";
  const [r, g, b] = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
  probe.remove();
  const { clientWidth: width, clientHeight: height } = canvas;
  const context = canvas.getContext("2d");
  const top = Math.max(0.01, ...video.points.map(([, area]) => area));
  const near = (x, y) => {
    const { data } = context.getImageData(Math.round(x) - 1, Math.round(y) - 1, 3, 3);
    for (let i = 0; i < data.length; i += 4) {
      const apart = Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b);
      if (data[i + 3] > 128 && apart < 90) return true;
    }
    return false;
  };
  return video.points.map(([frame, area]) => near(
    8 + (video.open.times[frame] / video.open.times.at(-1)) * (width - 16),
    height - 14 - (area / top) * (height - 24)));
}"""


@pytest.fixture
def viewer(tmp_path: Path, make_experiment: MakeExperiment) -> Iterator[Server]:
    (tmp_path / "ward").mkdir()
    write_clip(tmp_path / "ward" / "colon.mp4", frames=FRAMES)
    with serving(train_two(tmp_path, make_experiment)[:1], tmp_path / "ward", tmp_path / "home") as started:
        yield started


def test_the_curve_of_the_area_goes_through_every_predicted_frame(browser: Any, viewer: Server) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(viewer.address + "#video")
    page.wait_for_selector("#title:has-text('frame')")
    page.select_option("#walk-rate", "1000")
    page.click("#walk-start")
    page.wait_for_selector(f"#walk-note:has-text('{FRAMES} frames predicted')", timeout=60_000)
    page.wait_for_timeout(200)
    found = page.evaluate(CURVE)
    assert len(found) == FRAMES
    assert sum(found) >= FRAMES - 2  # the mark of the open frame and the curve of doubt may lie over it
    page.close()
