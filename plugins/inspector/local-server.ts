import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import { z } from "zod";
import { messageOf, type Undo } from "../../core/index.ts";
import { isGone, processMark } from "../../rooms/index.ts";

const entrySchema = z.strictObject({
  v: z.literal(1),
  /** Of its WebSocket, without credential. */
  url: z.string(),
  /** "" when there is none that is anybody's. */
  token: z.string(),
  /** Path of its database, for people. */
  db: z.string(),
  process: z.strictObject({ boot_id: z.string(), pid_namespace: z.string(), pid: z.int(), started: z.string() }),
});

/** How a server of this machine lets the command find it. */
export type LocalServer = z.infer<typeof entrySchema>;

/** An entry is small; a file of more is none. */
const maxEntryBytes = 65_536;
const namePattern = /^server-\d+\.json$/;

/** What was found in the runtime folder. */
export interface FoundServers {
  readonly servers: readonly LocalServer[];
  /** Servers that ended without a word. */
  readonly gone: readonly LocalServer[];
}

/**
 * The folder of the user's own in which servers leave their entries: `roomtap` in `XDG_RUNTIME_DIR`, which lives as long as
 * the login; without one, a folder named after the user in that for temporary files.
 */
export function runtimeFolder(environment: NodeJS.ProcessEnv): string {
  const given = environment["XDG_RUNTIME_DIR"];
  if (given !== undefined && isAbsolute(given)) return join(given, "roomtap");
  return join(tmpdir(), `roomtap-${userInfo().username.replace(/[^\w.-]/g, "_")}`);
}

/**
 * Leaves the entry of this process, for the command to find: url and token in a file that only this user can read. Its undo
 * removes it. A text instead of an undo says why there is none; the server is as good without.
 */
export function announceServer(server: Pick<LocalServer, "url" | "token" | "db">, folder: string): Undo | string {
  const path = join(folder, `server-${process.pid}.json`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const problem = notOurs(folder, "folder");
    if (problem !== null) return problem;
    const entry: LocalServer = { v: 1, ...server, process: processMark() };
    // Under another name first: nobody reads half of it. Made anew, so that nobody else's file or link is written to.
    const draft = `${path}.new`;
    rmSync(draft, { force: true });
    writeFileSync(draft, JSON.stringify(entry), { mode: 0o600, flag: "wx" });
    renameSync(draft, path);
  } catch (fault) {
    return `${folder}: ${messageOf(fault)}`;
  }
  return () => {
    try {
      rmSync(path, { force: true });
    } catch {
      // Whoever finds it sees that its process is gone.
    }
  };
}

/**
 * The servers of this user on this machine. Entries of others, and what is no entry, are passed over.
 * `removesGone`: whether entries of servers that ended without a word are removed; default true
 */
export function findServers(
  folder: string,
  { removesGone = true }: { readonly removesGone?: boolean } = {},
): FoundServers {
  const servers: LocalServer[] = [];
  const gone: LocalServer[] = [];
  if (!isThere(folder) || notOurs(folder, "folder") !== null) return { servers, gone };
  const own = processMark();
  for (const name of readdirSync(folder).filter((each) => namePattern.test(each))) {
    const path = join(folder, name);
    const entry = readEntry(path);
    if (entry === null) continue;
    if (!isGone(entry.process, own)) servers.push(entry);
    else {
      gone.push(entry);
      if (removesGone) rmSync(path, { force: true });
    }
  }
  return { servers, gone };
}

function readEntry(path: string): LocalServer | null {
  try {
    if (notOurs(path, "file") !== null) return null;
    const parsed = entrySchema.safeParse(JSON.parse(readFileSync(path, "utf8")));
    return parsed.success ? parsed.data : null;
  } catch {
    // Removed meanwhile, or no JSON: no server to connect to.
    return null;
  }
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Why a file or folder cannot be trusted: it is a link, somebody else's, or open to others; null when it can. */
function notOurs(path: string, kind: "file" | "folder"): string | null {
  const stat = lstatSync(path);
  const isKind = kind === "folder" ? stat.isDirectory() : stat.isFile() && stat.size <= maxEntryBytes;
  if (!isKind) return `${path} is no ${kind} of ours`;
  // Where there are no users of this kind, the folder for temporary files is the user's own.
  const user = process.getuid?.();
  if (user === undefined) return null;
  if (stat.uid !== user) return `${path} belongs to another user`;
  return (stat.mode & 0o077) === 0 ? null : `${path} is open to others`;
}
