import { resolve } from "node:path";
import type { Clock, Report, Turn } from "../../core/index.ts";
import { framesOf, mentionFrames, nameOf, newTurnState, parseToolCall, type TurnState } from "./acp-frames.ts";
import { answerOf, questionOf, type PermissionAnswer } from "./acp-permission.ts";
import { connectAcp, type AcpConnection, type PermissionRequest, type PromptEnd, type Reply } from "./acp.ts";
import { startAgentProcess, type AgentProcess } from "./agent-process.ts";
import type { AcpConfig } from "./config.ts";
import { promptText } from "./prompt.ts";
import { aborted, untilStopped, within } from "./waiting.ts";

/** Times and bounds of an agent process. */
export const acpDefaults = {
  /** How long a new process may take for its handshake, and each new ACP session. Agents may be fetched first. */
  startTimeoutMs: 60_000,
  /** How long an agent may take to end a turn that it was asked to stop; then its process is given up. */
  cancelGraceMs: 10_000,
  /** At the end: from the end of input to SIGTERM, and from there to SIGKILL. */
  endGraceMs: 2_000,
  /** ACP sessions of a process; at the bound the one unused for longest is closed, and its member begins a new one. */
  maxSessions: 1_024,
} as const;

/** What an ACP runner works with. */
export interface AcpOptions {
  readonly clock: Clock;
  /** Hears of agents that are lost, ignore a stop or answer what they were not asked. */
  readonly report: Report;
  /** Other times and bounds than `acpDefaults`. */
  readonly limits?: Partial<Record<keyof typeof acpDefaults, number>>;
}

/** How the agent's part of a turn ended. */
export type AgentTurnEnd =
  | { readonly kind: "stopped" }
  /** It never got the prompt: nothing ran. */
  | { readonly kind: "not_started"; readonly code: number | null; readonly problem: string }
  | { readonly kind: "lost"; readonly problem: string }
  | Extract<Reply<PromptEnd>, { kind: "done" | "refused" }>;

/** One ACP session: the agent's memory of one member in one thread. */
interface AcpSession {
  readonly id: string;
  /** No prompt was sent yet, so the agent knows nothing of the thread. */
  fresh: boolean;
  /** The running turn, or the last one: what comes late is its, and refused. */
  last: { readonly turn: Turn; readonly state: TurnState; readonly stopped: Promise<undefined> } | undefined;
}

/** One running agent process and its ACP sessions. Several turns may run side by side, one for each session. */
export class AcpAgent {
  readonly #config: AcpConfig;
  readonly #options: AcpOptions;
  readonly #limits: Record<keyof typeof acpDefaults, number>;
  readonly #process: AgentProcess;
  readonly #connection: AcpConnection;
  readonly #ready: Promise<Reply<{ readonly closesSessions: boolean }>>;
  /** By the member's session, least recently used first. */
  readonly #opened = new Map<string, Promise<Reply<AcpSession>>>();
  /** By the agent's id for it. */
  readonly #sessions = new Map<string, AcpSession>();
  readonly #running = new Set<string>();
  #retired = false;
  /** It ended, or stopped talking, before anybody ended it. */
  #wasLost = false;
  /** It answered what it was not asked, and that was told. */
  #isStray = false;
  #ending: Promise<void> | undefined;

  /** Starts the process. @throws what the system says when it cannot even be tried */
  constructor(config: AcpConfig, options: AcpOptions) {
    this.#config = config;
    this.#options = options;
    this.#limits = { ...acpDefaults, ...options.limits };
    this.#process = startAgentProcess(config, options.clock);
    this.#connection = connectAcp(this.#process.stdin, this.#process.stdout, {
      onUpdate: (sessionId, update) => this.#onUpdate(sessionId, update),
      onPermission: (request) => this.#onPermission(request),
      onStrayAnswer: () => this.#onStrayAnswer(),
    });
    this.#ready = this.#start();
    void this.#process.ended.then((how) => this.#onEnded(how));
    void this.#connection.closed.then(() => this.#lose());
  }

  /** Whether a turn of a member's session may be given to it: not while an earlier one there has not ended yet. */
  admits(session: string): boolean {
    return !this.#retired && !this.#running.has(session);
  }

  /** Gives it no more turns; it ends with the last of those it has. */
  retire(): void {
    this.#retired = true;
    if (this.#running.size === 0) void this.close();
  }

  /** Settles when the process is gone. */
  get ended(): Promise<unknown> {
    return this.#process.ended;
  }

  /** Runs one turn. Never rejects. Once `turn.signal` is aborted the end is `stopped`, whatever the agent says. */
  async run(turn: Turn): Promise<AgentTurnEnd> {
    this.#running.add(turn.session);
    try {
      const opened = await untilStopped(this.#open(turn.session), turn.signal);
      if (opened === undefined || turn.signal.aborted) return { kind: "stopped" };
      if (opened.kind === "lost") return await this.#lost();
      if (opened.kind === "refused") return { ...opened, kind: "not_started" };
      return await this.#prompt(opened.value, turn);
    } finally {
      this.#running.delete(turn.session);
      if (this.#retired) this.retire();
    }
  }

  /** Ends the process; turns that run are lost. Safe to call twice. */
  close(): Promise<void> {
    this.#retired = true;
    this.#ending ??= this.#process.end(this.#limits.endGraceMs);
    return this.#ending;
  }

  #lose(): void {
    this.#wasLost ||= this.#ending === undefined;
    void this.close();
  }

  async #start(): Promise<Reply<{ readonly closesSessions: boolean }>> {
    const reply = await within(this.#options.clock, this.#limits.startTimeoutMs, this.#connection.initialize());
    if (reply?.kind === "done") return reply;
    void this.close();
    if (reply?.kind === "refused") return reply;
    const problem =
      reply === undefined ? `did not answer within ${this.#limits.startTimeoutMs} ms` : await this.#fate();
    return { kind: "refused", code: null, problem };
  }

  #open(member: string): Promise<Reply<AcpSession>> {
    const opened = this.#opened.get(member) ?? this.#newSession(member);
    this.#opened.delete(member);
    this.#opened.set(member, opened);
    return opened;
  }

  async #newSession(member: string): Promise<Reply<AcpSession>> {
    const ready = await this.#ready;
    if (ready.kind !== "done") return ready;
    this.#makeRoom(ready.value.closesSessions);
    const cwd = resolve(this.#config.cwd ?? ".");
    const { clock } = this.#options;
    const reply = await within(clock, this.#limits.startTimeoutMs, this.#connection.newSession(cwd));
    if (reply?.kind !== "done") {
      this.#opened.delete(member);
      const problem = `did not open a session within ${this.#limits.startTimeoutMs} ms`;
      return reply ?? { kind: "refused", code: null, problem };
    }
    if (this.#sessions.has(reply.value)) {
      this.#opened.delete(member);
      return { kind: "refused", code: null, problem: "gave the id of another session to a new one" };
    }
    const session = { id: reply.value, fresh: true, last: undefined };
    this.#sessions.set(session.id, session);
    return { kind: "done", value: session };
  }

  #makeRoom(closesSessions: boolean): void {
    if (this.#opened.size <= this.#limits.maxSessions) return;
    const idle = [...this.#opened.keys()].find((member) => !this.#running.has(member));
    if (idle === undefined) return;
    const opened = this.#opened.get(idle);
    this.#opened.delete(idle);
    void opened?.then((reply) => {
      if (reply.kind !== "done") return;
      this.#sessions.delete(reply.value.id);
      if (closesSessions) this.#connection.closeSession(reply.value.id);
    });
  }

  #forget(member: string, session: AcpSession): void {
    this.#opened.delete(member);
    this.#sessions.delete(session.id);
  }

  async #prompt(session: AcpSession, turn: Turn): Promise<AgentTurnEnd> {
    const stopped = aborted(turn.signal);
    session.last = { turn, state: newTurnState(), stopped };
    const prompt = promptText(turn.unseen, session.fresh ? turn.earlier : [], turn.coordinates !== null);
    session.fresh = false;
    const prompting = this.#connection.prompt(session.id, prompt);
    const reply = await Promise.race([prompting, stopped]);
    if (reply === undefined) {
      await this.#stop(session, prompting);
      return { kind: "stopped" };
    }
    if (reply.kind === "lost") return await this.#lost();
    if (reply.kind === "refused" && reply.code === unknownSession) this.#forget(turn.session, session);
    return reply;
  }

  /** Asks the agent to end the turn. One that goes on regardless may still tell things: no other turn must get them. */
  async #stop(session: AcpSession, prompting: Promise<unknown>): Promise<void> {
    const { clock, report } = this.#options;
    const { cancelGraceMs } = this.#limits;
    this.#connection.cancel(session.id);
    if ((await within(clock, cancelGraceMs, prompting)) !== undefined) return;
    this.retire();
    const message = `${this.#config.command} went on for ${cancelGraceMs} ms after it was asked to stop: the next turn starts a new process`;
    report({ code: "agent_ignored_stop", message, subject: this.#config.command });
  }

  /** Once: what comes of it is nothing, and an agent that does it does it often. */
  #onStrayAnswer(): void {
    if (this.#isStray) return;
    this.#isStray = true;
    const { command } = this.#config;
    const message = `${command} answers requests that it was not sent: such answers are dropped`;
    this.#options.report({ code: "agent_stray_answer", message, subject: command });
  }

  #onUpdate(sessionId: string, update: unknown): void {
    const last = this.#sessions.get(sessionId)?.last;
    // Told before the first prompt (commands, modes): about no turn.
    if (last === undefined) return;
    for (const frame of framesOf(update, last.state)) last.turn.emit(frame);
  }

  async #onPermission({ sessionId, toolCall, options }: PermissionRequest): Promise<PermissionAnswer> {
    const last = this.#sessions.get(sessionId)?.last;
    const call = parseToolCall(toolCall);
    if (last === undefined || call === undefined) return { outcome: "cancelled" };
    const { turn, state, stopped } = last;
    for (const frame of mentionFrames(call, state)) turn.emit(frame);
    const name = state.calls.get(call.toolCallId)?.name ?? nameOf(call);
    const outcome = await Promise.race([turn.ask(questionOf(call, name, options)), stopped]);
    return outcome === undefined ? { outcome: "cancelled" } : answerOf(outcome, options);
  }

  async #lost(): Promise<AgentTurnEnd> {
    return { kind: "lost", problem: await this.#fate() };
  }

  /** What became of the process, with its last words. */
  async #fate(): Promise<string> {
    const how = (await within(this.#options.clock, exitNewsMs, this.#process.ended)) ?? "closed its output";
    const lines = this.#process.lastLines();
    return lines === "" ? how : `${how}; its last lines: ${lines}`;
  }

  async #onEnded(how: string): Promise<void> {
    const { clock, report } = this.#options;
    const { command } = this.#config;
    this.#lose();
    // One that was never ready is told of by the turns that wanted it.
    const wasReady = (await this.#ready).kind === "done";
    if (wasReady && this.#wasLost) report({ code: "agent_lost", message: `${command} ${how}`, subject: command });
    // What it had written is still read, but a process that it started may hold the pipe open.
    await within(clock, exitNewsMs, this.#connection.closed);
    this.#connection.close();
  }
}

/** ACP's error code for a session that the agent does not know, or not any more. */
const unknownSession = -32_002;

/** How long the end of a process and the end of its output may lie apart. */
const exitNewsMs = 1_000;
