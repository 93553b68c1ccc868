import { RoomtapError } from "../../core/index.ts";

/** The gateways of a host: they are closed together, and none is opened afterwards. */
export class OpenGateways {
  readonly #open = new Set<{ close(): unknown }>();
  #isClosed = false;

  /** @throws RoomtapError `closed` */
  add<Opened extends { close(): unknown }>(make: () => Opened): Opened {
    if (this.#isClosed) throw new RoomtapError("closed", "the host is closed");
    const opened = make();
    this.#open.add(opened);
    return opened;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#open].map((gateway) => gateway.close()));
  }
}
