import { refuse, type Refused } from "./called.ts";
import { messageOf } from "./errors.ts";
import type { Runner, Turn, TurnEnd } from "./runner.ts";

/** An agent that sessions may be opened with. */
export interface AgentDefinition {
  readonly agent_id: string;
  /** Default the id. */
  readonly display_name?: string | undefined;
  /** Its runner, or what builds it at the first turn. One that fails is called again at the next turn. */
  readonly runner: Runner | (() => Runner | Promise<Runner>);
}

/** An agent of a host. Its runner may have to be built; a turn that comes first waits for it. */
export class Agent {
  readonly agent_id: string;
  readonly display_name: string;
  /** What turns are run with, built or not. It fails a turn `member_unavailable` when it cannot be built. */
  readonly runner: Runner;
  readonly #make: () => Runner | Promise<Runner>;
  #built: Runner | null = null;
  #building: Promise<Runner> | null = null;

  constructor({ agent_id, display_name, runner }: AgentDefinition) {
    this.agent_id = agent_id;
    this.display_name = display_name ?? agent_id;
    if (typeof runner === "function") {
      this.#make = runner;
      this.runner = this.#lateRunner();
    } else {
      this.#make = () => runner;
      this.#built = runner;
      this.runner = runner;
    }
  }

  /** The runner itself; null until it is built. */
  get built(): Runner | null {
    return this.#built;
  }

  /**
   * Builds the runner, once however many ask.
   * @throws what building it throws
   */
  async build(): Promise<Runner> {
    if (this.#built !== null) return this.#built;
    this.#building ??= Promise.resolve().then(this.#make);
    try {
      this.#built = await this.#building;
      return this.#built;
    } finally {
      this.#building = null;
    }
  }

  #lateRunner(): Runner {
    return {
      kind: "agent",
      run: (turn) => this.#run(turn),
      steer: (turn, correction) => this.#built?.steer?.(turn, correction) ?? false,
      close: async () => this.#built?.close(),
    };
  }

  async #run(turn: Turn): Promise<TurnEnd> {
    let runner: Runner;
    try {
      runner = await this.build();
    } catch (fault) {
      const error = `the agent ${this.agent_id} could not be built: ${messageOf(fault)}`;
      return { status: "failed", reason_code: "member_unavailable", error };
    }
    return turn.signal.aborted ? { status: "cancelled" } : runner.run(turn);
  }
}

const noAgent = "no agents are configured, and a session needs one";

/** The agents of a host, by id. */
export class Agents {
  readonly #agents: ReadonlyMap<string, Agent>;

  constructor(agents: readonly AgentDefinition[]) {
    this.#agents = new Map(agents.map((agent) => [agent.agent_id, new Agent(agent)]));
  }

  /** In the order in which they were given. */
  get ids(): readonly string[] {
    return [...this.#agents.keys()];
  }

  /** @param agentId default: the one called `default`, else the first */
  find(agentId = this.#agents.has("default") ? "default" : this.ids[0]): Agent | Refused<"agent_unavailable"> {
    const agent = this.#agents.get(agentId ?? "");
    return agent ?? refuse("agent_unavailable", agentId === undefined ? noAgent : `there is no agent ${agentId}`);
  }
}
