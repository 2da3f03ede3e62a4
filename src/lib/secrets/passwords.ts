/**
 * Argon2id with the parameters that OWASP recommends, stored as PHC strings so that they can be raised. Each hash takes
 * 19 MiB, so only a few are computed at once and the others wait: a flood of requests cannot exhaust the memory. Clients take
 * turns, and one that floods fills at most half of the queue.
 */
import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { FairBudget } from '../load/fair-budget.ts';
import { FairSlots } from '../load/fair-slots.ts';

export const productionCosts = { memory: 19_456, passes: 2, parallelism: 1 } as const;
/** The costs of new hashes. Only tests change them. */
export const costs: Record<keyof typeof productionCosts, number> = { ...productionCosts };
const tagLength = 32;
const saltLength = 16;
const maxConcurrent = 2;
/** Used when there is no password: verifying takes as long as with any other hash, and never succeeds. */
const noPassword = () => phc(Buffer.alloc(saltLength), Buffer.alloc(tagLength));

const derive = promisify(argon2);

export class PasswordQueueFullError extends Error {}

export class Passwords {
  readonly #slots = new FairSlots<string>(maxConcurrent, maxConcurrent);
  readonly #queue: FairBudget<string>;

  constructor(maxQueueLength = 100) {
    this.#queue = new FairBudget(maxQueueLength);
  }

  /** `client` is the network address of the request, or any other name of who caused it. */
  async hash(client: string, password: string): Promise<string> {
    const salt = randomBytes(saltLength);
    const tag = await this.#derive(client, { message: password, nonce: salt, tagLength, ...costs });
    return phc(salt, tag);
  }

  /** Takes the same time if there is no stored hash. */
  async verify(client: string, password: string, stored: string | null | undefined): Promise<boolean> {
    const { salt, tag, ...parameters } = parse(stored ?? noPassword());
    const computed = await this.#derive(client, {
      message: password,
      nonce: salt,
      tagLength: tag.length,
      ...parameters,
    });
    return timingSafeEqual(computed, tag) && typeof stored === 'string';
  }

  /** Returns whether a hash was computed with other parameters than the current ones. */
  isOutdated(stored: string): boolean {
    const { memory, passes, parallelism } = parse(stored);
    return memory !== costs.memory || passes !== costs.passes || parallelism !== costs.parallelism;
  }

  async #derive(client: string, parameters: Argon2Parameters): Promise<Buffer> {
    if (!this.#queue.take(client, 1)) throw new PasswordQueueFullError('too many passwords are being hashed');
    try {
      return await this.#slots.run(client, () => derive('argon2id', parameters));
    } finally {
      this.#queue.release(client, 1);
    }
  }
}

const phcPattern = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

function parse(stored: string) {
  const [, memory, passes, parallelism, salt, tag] = phcPattern.exec(stored) ?? [];
  if (!salt || !tag) throw new Error('a stored password hash is not an Argon2id hash');
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  };
}

function phc(salt: Buffer, tag: Buffer): string {
  const { memory, passes, parallelism } = costs;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(salt)}$${encode(tag)}`;
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}
