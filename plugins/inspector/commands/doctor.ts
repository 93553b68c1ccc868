import { createRedactor, limits, secretsOfEnvironment, systemClock, type Clock } from "../../../core/index.ts";
import type { Output } from "../../output.ts";
import type { Look, Style } from "../../style.ts";
import { jsonText, oneLine } from "../../terminal-text.ts";
import { checkConfig } from "../doctor/config-checks.ts";
import { databaseFindings } from "../doctor/database-checks.ts";
import type { Finding, FindingLevel } from "../doctor/finding.ts";
import { serverFindings, type AskTime } from "../doctor/server-checks.ts";
import { diskFinding, nodeFinding, sqliteFinding } from "../doctor/system-checks.ts";
import type { RemoteOptions } from "../remote.ts";

/** What `roomtap doctor` is asked for. */
export interface DoctorOptions extends RemoteOptions {
  /** Path of the database; default: `roomtap.db` if it is there. */
  readonly db?: string | undefined;
  readonly config?: string | undefined;
  readonly runtimeFolder: string;
  readonly environment: { readonly [name: string]: string | undefined };
  readonly style: Style;
}

const defaultDb = "roomtap.db";

/**
 * Looks at all that commands need: a line for each thing, with what to do where something is wrong. It changes nothing and
 * shows no secret. 0: no problem; 1: there is one.
 */
export async function doctorCommand(
  options: DoctorOptions,
  { out }: Output,
  { clock = systemClock, askTime }: { readonly clock?: Clock; readonly askTime?: AskTime } = {},
): Promise<number> {
  const { db = defaultDb, config, environment, json, style } = options;
  const checked = config === undefined ? { findings: [], secrets: [] } : await checkConfig(config, environment);
  const findings = [
    nodeFinding(process.versions.node),
    await sqliteFinding(),
    diskFinding(db),
    ...(await databaseFindings({ db, isNamed: options.db !== undefined })),
    ...checked.findings,
    ...(await serverFindings(options, { clock, ...(askTime === undefined ? {} : { askTime }) })),
  ];
  const literals = [
    ...secretsOfEnvironment(environment),
    ...checked.secrets,
    ...(options.token === undefined ? [] : [options.token]),
  ];
  const redactor = createRedactor({ literals: literals.filter((text) => text.length >= limits.minLiteralUnits) });
  const shown = findings.map((finding) => masked(finding, (text) => redactor.text(text)));
  const isWell = shown.every(({ level }) => level !== "problem");
  if (json) await out(jsonText({ ok: isWell, findings: shown }));
  else for (const finding of shown) await out(lineOf(finding, style));
  return isWell ? 0 : 1;
}

function masked({ message, remedy, ...rest }: Finding, mask: (text: string) => string): Finding {
  return { ...rest, message: mask(message), remedy: remedy === null ? null : mask(remedy) };
}

const levelLooks: { readonly [Level in FindingLevel]: Look } = { ok: "green", warning: "yellow", problem: "red" };

function lineOf({ check, level, message, remedy }: Finding, style: Style): string {
  const todo = remedy === null ? "" : ` -> ${oneLine(remedy)}`;
  return `${style(levelLooks[level], level.padEnd(7))}  ${check.padEnd(8)}  ${oneLine(message)}${todo}`;
}
