import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Page } from "playwright-core";

/** What runs in the page. */
const script = readFileSync(new URL("./svg-of.js", import.meta.url), "utf8");

/**
 * Draws what a page shows as a small SVG: boxes, borders and texts where the browser has them, canvases as they are painted.
 * It is what the README shows: text that stays sharp, in some kilobytes.
 */
export async function drawPicture(page: Page, file: string, height: number): Promise<void> {
  await page.evaluate(script);
  const svg: unknown = await page.evaluate(`svgOf(${height})`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${String(svg)}\n`);
}
