import type { Clock } from "../core/index.ts";
import type { Permit } from "./permit.ts";
import type { HostServices } from "./services.ts";

/** What a plugin's code says of itself, before anything is asked of it. */
export interface PluginAbout {
  readonly id: string;
  readonly version: string;
  /** As it stands there: nobody has checked it. */
  readonly manifest: unknown;
}

/** What an instance works with. */
export interface InstanceParts {
  readonly id: string;
  readonly permit: Permit;
  readonly services: HostServices;
  readonly clock: Clock;
  /** As it was given: the plugin's own schema checks it. */
  readonly config: unknown;
  /** How long a step of the unloading is waited for. */
  readonly stepMs: number;
  /** Told of a fault that goes no further: a step that failed, code that ran later, a worker that ended. */
  readonly onFault: (message: string, cause?: unknown) => void;
  /** Told when its code is started again by itself, and when it goes on. */
  readonly onRestart: (isOver: boolean) => void;
  /** Told that it failed too often, and is to be taken out. */
  readonly onGivenUp: (message: string) => void;
}

/** A plugin's code at work, in the host's thread or in one of its own. */
export interface PluginInstance {
  /** Checks its config. @throws RoomtapError `invalid_config`, naming the plugin and the path of the first problem */
  check(): Promise<void>;
  /** What it throws is the setup's; what was registered until then goes with `unload`. */
  setup(): Promise<void>;
  /** Tells it that the rooms are open. Never rejects. */
  ready(): Promise<void>;
  /** Has it write down what it holds. Never rejects; takes at most so long. */
  drain(deadlineMs: number): Promise<void>;
  /** Undoes all that it registered, in reverse, and ends it. Safe to call twice, and before its setup. */
  unload(): Promise<void>;
}

/** Code that was read, and has not been set up. */
export interface LoadedCode {
  readonly about: PluginAbout;
  /** Gives it what it works with. To be called once. */
  instance(parts: InstanceParts): PluginInstance;
  /** When no instance is made of it. */
  discard(): Promise<void>;
}
