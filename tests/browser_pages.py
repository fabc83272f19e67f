"""Pages in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

CONTRASTS = """
const channels = (text) => text.match(/[\\d.]+/g).map(Number);
const luminance = (c) => {
  const [r, g, b] = c.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const poor = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || element.closest('.unseen, .skip') || !element.checkVisibility()) continue;
  let behind = element, back = [0, 0, 0, 0];
  while (behind && (back.length === 4 && back[3] === 0)) {
    back = channels(getComputedStyle(behind).backgroundColor);
    behind = behind.parentElement;
  }
  const [a, b] = [luminance(channels(getComputedStyle(element).color)), luminance(back)].sort((x, y) => y - x);
  const contrast = (a + 0.05) / (b + 0.05);
  if (contrast < 4.5) poor.push([element.className, walker.currentNode.data.trim().slice(0, 30), contrast]);
}
return poor;
"""


def visit(browser: Any, path: Path, *, width: int, scheme: str = "light") -> None:
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {
            "features": [
                {"name": "prefers-color-scheme", "value": scheme},
                {"name": "prefers-reduced-motion", "value": "reduce"},
            ]
        },
    )
    metrics = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(path.as_uri())
