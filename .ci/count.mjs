// Prints `N passed, N failed` and exits 1 when anything failed.
// Usage: count.mjs REPORT TEST_STATUS FAILED_CHECKS: vitest's JSON report, the exit status of the run that wrote it, and
// how many other checks failed. The report alone is not enough: it counts no failed test for a file that did not load,
// nor for a rejection that nobody handled, and a run that died leaves none.
import { readFileSync } from "node:fs";

const [path = "", testStatus = "", failedChecks = ""] = process.argv.slice(2);

function readReport() {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, testResults: [] };
  }
}

const { numPassedTests, numFailedTests, testResults } = readReport();
const unread = testResults.filter(
  ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
);
const clean = testStatus === "0" && numPassedTests > 0;
const failed = Number(failedChecks) + Math.max(numFailedTests + unread.length, clean ? 0 : 1);

process.stdout.write(`${numPassedTests} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
