import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll } from "vitest";
import { readText, rootFolder } from "./repository.ts";

const run = promisify(execFile);

/** No program of these tests may hang for longer. */
const deadlineMs = 120_000;

/** A folder outside the repository that has the packed package installed, and what that depends on. */
export class Installed {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Runs Node there, with nothing of this process's environment but its path. Gives what it wrote to stdout. */
  async node(args: readonly string[], cwd = this.folder): Promise<string> {
    const { PATH, HOME } = process.env;
    const { stdout } = await run(process.execPath, args, { cwd, timeout: deadlineMs, env: { PATH, HOME } });
    return stdout;
  }

  /** Runs the installed command. */
  roomtap(...args: readonly string[]): Promise<string> {
    return this.node([join(this.folder, "node_modules/roomtap/dist/bin.js"), ...args]);
  }

  /** Installs packages that the repository has. */
  link(names: readonly string[], beside = this.folder): void {
    for (const name of names) {
      const place = join(beside, "node_modules", name);
      mkdirSync(dirname(place), { recursive: true });
      symlinkSync(realpathSync(join(rootFolder, "node_modules", name)), place);
    }
  }
}

/**
 * Packs the build and installs it into an empty folder, without a network: what it depends on is linked to the repository's.
 * Removed when the tests of the file are over.
 */
export async function installPacked(): Promise<Installed> {
  // Where links lead: a path that is one itself would be another one for Node.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "roomtap-packed-")));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const { stdout } = await run("npm", args, { cwd: rootFolder, timeout: deadlineMs });
  const [{ filename } = { filename: "" }] = JSON.parse(stdout) as readonly { readonly filename: string }[];
  const place = join(folder, "node_modules/roomtap");
  mkdirSync(place, { recursive: true });
  await run("tar", ["-xzf", join(folder, filename), "-C", place, "--strip-components=1"]);
  const installed = new Installed(folder);
  const { dependencies } = JSON.parse(readText("package.json")) as { readonly dependencies: Record<string, string> };
  installed.link(Object.keys(dependencies));
  return installed;
}
