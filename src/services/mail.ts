/** Belfry's own mails (invites, password resets), written and sent by the same parts as everybody's messages. */
import { randomUUID } from 'node:crypto';
import { type CompiledMessage, compileMessage, renderMessage } from '../core/render/render.ts';
import type { Outcome, Sender } from '../providers/sending.ts';

const invite = compileMessage({
  subject: 'Join {{ organization }} on Belfry',
  body: `{{ inviter }} invited you to **{{ organization }}** as {{ role }}.

**[Accept invite]({{ link }})**

The link works once, until {{ until }}. If you did not expect this mail, you can ignore it.`,
});

const reset = compileMessage({
  subject: 'Reset your Belfry password',
  body: `Somebody, hopefully you, asked to reset the password of {{ email }}.

**[Choose a new password]({{ link }})**

The link works once, for one hour. If it was not you, ignore this mail: your password stays as it is.`,
});

const noPassword = compileMessage({
  subject: 'Signing in to Belfry',
  body: `Somebody, hopefully you, asked to reset the password of {{ email }}. This account has none: sign in with {{ provider }} instead.

**[Sign in]({{ link }})**

If it was not you, ignore this mail.`,
});

const templates = { invite, reset, noPassword };

export interface Mail {
  to: string;
  template: keyof typeof templates;
  values: Record<string, string>;
}

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export class Mailer {
  readonly #sender: Sender;
  readonly #log: Log;
  readonly #inFlight = new Set<Promise<unknown>>();

  constructor(sender: Sender, log: Log) {
    this.#sender = sender;
    this.#log = log;
  }

  async send({ to, template, values }: Mail): Promise<Outcome> {
    const outcome = await this.#sender.send({
      id: randomUUID(),
      address: to,
      content: render(templates[template], values),
      createdAt: new Date(),
      tags: { organization: 'belfry', event: 'account', notification: template },
    });
    // Whom it is for is personal, and the link a secret: neither is logged.
    if (outcome.ok) this.#log.info({ template, id: outcome.id }, 'mail sent');
    else this.#log.warn({ template, reason: outcome.reason }, 'mail not sent');
    return outcome;
  }

  /** For whoever must not wait for it. */
  sendLater(work: () => Promise<unknown>): void {
    const sending = work().catch(error => this.#log.warn({ err: error }, 'mail not sent'));
    this.#inFlight.add(sending);
    void sending.finally(() => this.#inFlight.delete(sending));
  }

  /** Waits for what was to be sent later. */
  async drain(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  async close(): Promise<void> {
    await this.drain();
    await this.#sender.close();
  }
}

function render(message: CompiledMessage, values: Record<string, string>) {
  return renderMessage(message, { medium: 'email', channel: 'mail', scope: values });
}
