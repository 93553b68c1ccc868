import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { rootFolder } from "./support/repository.ts";

/** Counts as `.ci/run` does. `report` is the text of vitest's report; undefined when the run left none. */
function count(report: string | undefined, testStatus: number, failedChecks: number) {
  const folder = mkdtempSync(join(tmpdir(), "roomtap-count-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "report.json");
  if (report !== undefined) writeFileSync(path, report);
  const args = [".ci/count.mjs", path, String(testStatus), String(failedChecks)];
  const { stdout, status } = spawnSync(process.execPath, args, { cwd: rootFolder, encoding: "utf8" });
  return { line: stdout, status };
}

function reportOf(passed: number, failed: number, unreadFiles: number): string {
  const unread = { status: "failed", assertionResults: [] };
  return JSON.stringify({
    numPassedTests: passed,
    numFailedTests: failed,
    testResults: [{ status: "passed", assertionResults: [{}] }, ...Array.from({ length: unreadFiles }, () => unread)],
  });
}

describe("the count of a run", () => {
  it.each([
    ["all passed", reportOf(9, 0, 0), 0, 0, "9 passed, 0 failed\n", 0],
    ["two tests failed", reportOf(9, 2, 0), 1, 0, "9 passed, 2 failed\n", 1],
    ["a file did not load", reportOf(9, 2, 1), 1, 0, "9 passed, 3 failed\n", 1],
    ["a rejection was not handled", reportOf(9, 0, 0), 1, 0, "9 passed, 1 failed\n", 1],
    ["a check failed beside two tests", reportOf(9, 2, 0), 1, 1, "9 passed, 3 failed\n", 1],
    ["the run was killed", undefined, 124, 0, "0 passed, 1 failed\n", 1],
    ["the report is cut off", '{"numPassed', 1, 0, "0 passed, 1 failed\n", 1],
    ["no test ran", reportOf(0, 0, 0), 0, 0, "0 passed, 1 failed\n", 1],
  ])("is right when %s", (_title, report, testStatus, failedChecks, line, status) => {
    expect(count(report, testStatus, failedChecks)).toEqual({ line, status });
  });
});
