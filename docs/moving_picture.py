# SPDX-License-Identifier: Apache-2.0
"""The moving picture of README.md: the web page of a replayed demo, by Chromium.

panda-dynamics demo --output demo_output
python docs/moving_picture.py demo_output/recording docs/images/demo.webp
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

from panda_dynamics_ros import load_dataset, load_robot, replay
from panda_dynamics_ros.reporting.web_view import WebView, show_replay_at

sys.path.append(str(Path(__file__).resolve().parents[1] / "test"))
from browser import open_page

STEP, SPEED = 0.2, 2.0  # s of the recording between two frames; times real time
WIDTH, HEIGHT = 1200, 620  # px of the page; the picture is two thirds of it
CLOSE_NOTICES = "document.querySelectorAll('[class*=Notification-close]').forEach(each => each.click())"


def frames(recording: Path, folder: Path) -> list[Image.Image]:
    """A picture of the page for each `STEP`; `folder` is for files on the way."""
    robot = load_robot("panda")
    data = load_dataset(recording, robot)
    result, pictures = replay(data, robot), []
    with WebView(robot, "panda-dynamics replay", 8080) as view, open_page(view.url, WIDTH, HEIGHT) as page:
        for stamp in np.arange(data.stamp[0] + 1.0, data.stamp[-1], STEP):
            show_replay_at(float(stamp), data, result, view)
            if not pictures:
                page.wait_for_text("payload mass")
                page.evaluate(CLOSE_NOTICES)
                time.sleep(4.0)  # until the picture has settled
            time.sleep(0.3)
            with Image.open(page.screenshot(folder / "page.png")) as seen:
                size = 2 * WIDTH // 3, 2 * HEIGHT // 3
                pictures.append(seen.convert("RGB").resize(size, Image.Resampling.LANCZOS))
    return pictures


def main() -> None:
    """Write the moving picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", type=Path, help="that `panda-dynamics demo` has made")
    parser.add_argument("picture", type=Path, help="file to write: .webp, .gif or .png")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        first, *others = frames(args.recording, Path(folder))
    duration = round(1000.0 * STEP / SPEED)  # ms
    first.save(args.picture, save_all=True, append_images=others, duration=duration, loop=0, quality=70, method=4)


if __name__ == "__main__":
    main()
