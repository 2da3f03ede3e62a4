/** Belfry's own mails (invites, password resets, what a guard holds), rendered and sent by the same code as notifications. */
import { randomUUID } from 'node:crypto';
import { type CompiledMessage, compileMessage, renderMessage } from '../../core/render/render.ts';
import { isolate } from '../../core/text/bidi.ts';
import { Background } from '../../lib/process/background.ts';
import { redact } from '../../lib/secrets/redact.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { Outcome, Sender } from '../../providers/sending.ts';

const invite = compileMessage({
  subject: 'Join {{ organization }} on Belfry',
  body: `{{ inviter }} invited you to **{{ organization }}** as {{ role }}.

**[Accept invite]({{ link }})**

The link works once and expires on {{ until }}. If you did not expect this email, you can ignore it.`,
});

const reset = compileMessage({
  subject: 'Reset your Belfry password',
  body: `We received a request to reset the password of {{ email }}.

**[Choose a new password]({{ link }})**

The link works once and expires in one hour. If you did not request this, you can ignore this email: your password stays unchanged.`,
});

const noPassword = compileMessage({
  subject: 'Signing in to Belfry',
  body: `We received a request to reset the password of {{ email }}. This account has no password: sign in with {{ provider }} instead.

**[Sign in]({{ link }})**

If you did not request this, you can ignore this email.`,
});

const guard = compileMessage({
  subject: '{{ subject }}',
  body: `{% for item in items %}## {{ item.title }}

{{ item.text }}
{% for fact in item.facts %}
- {{ fact }}{% endfor %}

**[{{ item.label }}]({{ item.link }})**

{% if item.reject %}[Reject it]({{ item.reject }})

{% endif %}{% endfor %}{% if more %}{{ more }}

{% endif %}{{ reason }}`,
});

const templates = { invite, reset, noPassword, guard };

export interface MailValues {
  [name: string]: string | readonly string[] | readonly MailValues[] | undefined;
}

interface Mail {
  to: string;
  template: keyof typeof templates;
  values: MailValues;
}

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export class Mailer {
  readonly #sender: Sender;
  readonly #log: Log;
  readonly #background: Background;

  constructor(sender: Sender, log: Log) {
    this.#sender = sender;
    this.#log = log;
    this.#background = new Background(error => log.warn({ err: error }, 'mail not sent'));
  }

  async send({ to, template, values }: Mail): Promise<Outcome> {
    const outcome = await this.#sender.send({
      id: randomUUID(),
      address: to,
      content: render(templates[template], values),
      createdAt: new Date(currentTime()),
      tags: { organization: 'belfry', event: 'account', notification: template },
    });
    // The recipient is personal data and the link is a secret: neither is logged.
    if (outcome.ok) this.#log.info({ template, id: outcome.id }, 'mail sent');
    else this.#log.warn({ template, reason: redact(outcome.reason) }, 'mail not sent');
    return outcome;
  }

  /** Sends in the background, for callers that must not wait for it. */
  sendLater(work: () => Promise<unknown>): void {
    this.#background.run(work);
  }

  /** Waits for all background sends. */
  drain(): Promise<void> {
    return this.#background.drain();
  }

  async close(): Promise<void> {
    await this.drain();
    await this.#sender.close();
  }
}

function render(message: CompiledMessage, values: MailValues) {
  return renderMessage(message, { medium: 'email', channel: 'mail', scope: isolateAll(values) });
}

const isolateAll = (values: MailValues): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map(isolateOne) : isolateOne(value),
    ]),
  );
const isolateOne = (value: unknown): unknown =>
  typeof value === 'string' ? isolate(value) : value === undefined ? undefined : isolateAll(value as MailValues);
