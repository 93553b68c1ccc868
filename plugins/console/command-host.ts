import type { Readable, Writable } from "node:stream";
import type { OpenRequest } from "../../core/index.ts";
import type { ApprovePolicy, AuthOptions, HostConfig } from "../config.ts";
import type { PluginEntry } from "../entry.ts";
import type { ConsoleHost } from "./carry-out.ts";
import type { SceneHost } from "./rounds.ts";

/** A host that runs, as far as commands need it. */
export interface CommandHost extends ConsoleHost, SceneHost {
  finish(): Promise<readonly OpenRequest[]>;
  openGateway(options: {
    readonly token?: string | undefined;
    readonly allowedOrigins?: readonly string[] | undefined;
  }): {
    readonly token: string;
    /** Whether the token was made here: nobody knows it yet. */
    readonly isTokenMade: boolean;
    link(http: string): Promise<string>;
    reload(auth: AuthOptions | undefined): number;
    listen(address: {
      readonly port: number;
      readonly host?: string;
    }): Promise<{ readonly http: string; readonly ws: string }>;
  };
  openStdio(streams: { readonly input: Readable; readonly output: Writable }): { readonly ended: Promise<string> };
}

/** What a host is opened with for a command. */
export interface HostRun {
  readonly config: HostConfig;
  /** Path of the database. */
  readonly db: string;
  readonly approve: ApprovePolicy | undefined;
  readonly plugins: readonly PluginEntry[];
  readonly onRequest?: (request: OpenRequest) => void;
}

/**
 * Opens a host, calls `use`, closes the host, and gives the status to end with. It also ends when the process is told to:
 * `stop` is aborted then, and what becomes of `use` is nobody's business any more.
 */
export type RunHost = (run: HostRun, use: (host: CommandHost, stop: AbortSignal) => Promise<number>) => Promise<number>;
