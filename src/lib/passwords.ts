/**
 * Argon2id with the parameters that OWASP recommends, stored as PHC strings so that they can be raised. Each hash takes
 * 19 MiB, so only a few are computed at once and the others wait: a flood of requests cannot exhaust the memory.
 */
import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

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
  readonly #maxQueueLength: number;
  readonly #waiting: (() => void)[] = [];
  #busy = 0;

  constructor(maxQueueLength = 100) {
    this.#maxQueueLength = maxQueueLength;
  }

  async hash(password: string): Promise<string> {
    const salt = randomBytes(saltLength);
    const tag = await this.#derive({ message: password, nonce: salt, tagLength, ...costs });
    return phc(salt, tag);
  }

  /** Takes the same time if there is no stored hash. */
  async verify(password: string, stored: string | null | undefined): Promise<boolean> {
    const { salt, tag, ...parameters } = parse(stored ?? noPassword());
    const computed = await this.#derive({ message: password, nonce: salt, tagLength: tag.length, ...parameters });
    return timingSafeEqual(computed, tag) && typeof stored === 'string';
  }

  /** Returns whether a hash was computed with other parameters than the current ones. */
  isOutdated(stored: string): boolean {
    const { memory, passes, parallelism } = parse(stored);
    return memory !== costs.memory || passes !== costs.passes || parallelism !== costs.parallelism;
  }

  async #derive(parameters: Argon2Parameters): Promise<Buffer> {
    if (this.#busy >= maxConcurrent) {
      if (this.#waiting.length >= this.#maxQueueLength)
        throw new PasswordQueueFullError('too many passwords are being hashed');
      await new Promise<void>(resolve => this.#waiting.push(resolve));
    } else {
      this.#busy++;
    }
    try {
      return await derive('argon2id', parameters);
    } finally {
      // The slot goes to the next in the queue, or is free again.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#busy--;
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
