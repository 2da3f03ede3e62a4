/**
 * Names the occurrence or delivery that the engine is processing, in memory that outlives its thread: when the thread
 * ends or blocks, the supervisor reads what caused it. Work on tenant input runs inside `during`, which is the only writer: it
 * sets the marker before each synchronous section, and clears it at the end. The memory also says whether the engine is
 * ready to decide triggers that are offered to it.
 */
const maxTextLength = 128;

export interface MarkedWork {
  organizationId: number;
  occurrenceId: string;
  /** Undefined while the occurrence itself is expanded. */
  deliveryId: number | undefined;
}

export class WorkMarker {
  /** The memory to share with the other thread. */
  readonly memory: SharedArrayBuffer;
  readonly #numbers: Int32Array;
  readonly #text: Uint8Array;
  readonly #encoder = new TextEncoder();

  constructor(memory = new SharedArrayBuffer(12 + maxTextLength)) {
    this.memory = memory;
    this.#numbers = new Int32Array(memory, 0, 3);
    this.#text = new Uint8Array(memory, 12);
  }

  /** Runs work that calls `mark` before each of its synchronous sections. */
  async during<T>(
    { organizationId, occurrenceId, deliveryId }: Omit<MarkedWork, 'deliveryId'> & Partial<MarkedWork>,
    work: (mark: () => void) => Promise<T>,
  ): Promise<T> {
    try {
      return await work(() => {
        const text = `${organizationId}/${occurrenceId}/${deliveryId ?? ''}`;
        this.#numbers[0] = this.#encoder.encodeInto(text, this.#text).written;
      });
    } finally {
      this.clear();
    }
  }

  clear(): void {
    this.#numbers[0] = 0;
  }

  read(): MarkedWork | undefined {
    const length = this.#numbers[0]!;
    if (length === 0) return undefined;
    const [organization, occurrenceId = '', delivery] = Buffer.from(this.#text.slice(0, length)).toString().split('/');
    return { organizationId: Number(organization), occurrenceId, deliveryId: delivery ? Number(delivery) : undefined };
  }

  /** Signals that the thread's event loop is running. */
  beat(): void {
    Atomics.add(this.#numbers, 1, 1);
  }

  get beats(): number {
    return Atomics.load(this.#numbers, 1);
  }

  get isReady(): boolean {
    return Atomics.load(this.#numbers, 2) === 1;
  }

  set isReady(isReady: boolean) {
    Atomics.store(this.#numbers, 2, Number(isReady));
  }
}
