/** Codes that are sent to addresses: a user who enters one proves to read what is sent there. */
import type { MessageContent, MessageText } from '../render/render.ts';

export const verificationLimits = {
  digits: 6,
  minutes: 15,
  /** How often a code may be entered. */
  attempts: 5,
  /** Codes per address and day, and seconds between two of them. */
  perAddress: 10,
  pauseSeconds: 60,
  /** Codes per user and day. */
  perUser: 30,
  /** Codes per organization and hour. */
  perOrganization: 300,
} as const;

/** Returns the digits of a code as someone entered it, such as `123 456`; undefined if they are not a code. */
export function readCode(text: string): string | undefined {
  const digits = text.replaceAll(/[\s-]+/g, '');
  return new RegExp(`^\\d{${verificationLimits.digits}}$`).test(digits) ? digits : undefined;
}

interface CodeTexts {
  subject: string;
  body: string;
  /** For text messages, which are read at a glance. */
  short: string;
  spoken: string;
}

const texts: Record<'en' | 'de' | 'es' | 'fr', CodeTexts> = {
  en: {
    subject: 'Your code for {{ name }}',
    body: 'Your code is **{{ code }}**. It is valid for {{ minutes }} minutes, and confirms that {{ name }} can reach you here.\n\nIf you did not ask for it, you can ignore this message.',
    short: '{{ code }} is your code for {{ name }}. It is valid for {{ minutes }} minutes.',
    spoken: 'Your code for {{ name }} is: {{ spoken }}. Again, your code is: {{ spoken }}.',
  },
  de: {
    subject: 'Ihr Code für {{ name }}',
    body: 'Ihr Code ist **{{ code }}**. Er gilt {{ minutes }} Minuten und bestätigt, dass {{ name }} Sie hier erreicht.\n\nWenn Sie ihn nicht angefordert haben, können Sie diese Nachricht ignorieren.',
    short: '{{ code }} ist Ihr Code für {{ name }}. Er gilt {{ minutes }} Minuten.',
    spoken: 'Ihr Code für {{ name }} ist: {{ spoken }}. Noch einmal, Ihr Code ist: {{ spoken }}.',
  },
  es: {
    subject: 'Su código para {{ name }}',
    body: 'Su código es **{{ code }}**. Es válido durante {{ minutes }} minutos y confirma que {{ name }} puede contactarle aquí.\n\nSi no lo ha pedido, puede ignorar este mensaje.',
    short: '{{ code }} es su código para {{ name }}. Es válido durante {{ minutes }} minutos.',
    spoken: 'Su código para {{ name }} es: {{ spoken }}. Otra vez, su código es: {{ spoken }}.',
  },
  fr: {
    subject: 'Votre code pour {{ name }}',
    body: 'Votre code est **{{ code }}**. Il est valable {{ minutes }} minutes et confirme que {{ name }} peut vous joindre ici.\n\nSi vous ne l’avez pas demandé, vous pouvez ignorer ce message.',
    short: '{{ code }} est votre code pour {{ name }}. Il est valable {{ minutes }} minutes.',
    spoken: 'Votre code pour {{ name }} est : {{ spoken }}. Encore une fois, votre code est : {{ spoken }}.',
  },
};

function localize<Text extends MessageText>(text: (own: CodeTexts) => Text) {
  const { en, ...others } = texts;
  const locales = Object.fromEntries(Object.entries(others).map(([language, own]) => [language, text(own)]));
  return { ...text(en), locales };
}

export const codeMessage: MessageContent = {
  ...localize(({ subject, body }) => ({ subject, body })),
  overrides: {
    sms: localize(({ short }) => ({ subject: '', body: short })),
    voice: localize(({ spoken }) => ({ subject: '', body: spoken })),
  },
};

/** What the templates of the message show. A full stop after each digit makes voices read slowly. */
export function codeScope(code: string, name: string) {
  return { code, spoken: [...code].join('. '), name, minutes: verificationLimits.minutes };
}
