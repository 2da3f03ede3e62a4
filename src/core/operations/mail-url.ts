/** The URL of the mail server for Belfry's own mails: smtp://user:password@host:587?from=Belfry <b@x.test> */
import { isMailbox } from '../configuration/shape.ts';

/** Settings of the SMTP provider. */
export interface MailSettings {
  host: string;
  port?: number;
  secure: boolean;
  starttls?: 'require' | 'prefer' | 'never';
  user?: string;
  password?: string;
  from: string;
}

const parameters = ['from', 'starttls'];
const starttls = ['require', 'prefer', 'never'] as const;

/** Returns the settings, or the mistakes in the URL. */
export function readMailUrl(text: string): MailSettings | { mistakes: string[] } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['smtp:', 'smtps:'].includes(url.protocol) || url.hostname === '') {
    return {
      mistakes: ['must be a URL such as smtp://user:password@host:587?from=Belfry%20<no-reply@example.com>'],
    };
  }
  const mistakes: string[] = [];
  const from = url.searchParams.get('from') ?? '';
  if (from === '') mistakes.push('has no sender: add ?from=Belfry%20<no-reply@example.com>');
  else if (!isMailbox(from)) mistakes.push(`has the sender "${from}", which is not an email address`);
  if (!['', '/'].includes(url.pathname)) mistakes.push(`has a path, ${url.pathname}: remove it`);
  for (const name of new Set(url.searchParams.keys())) {
    if (!parameters.includes(name))
      mistakes.push(`has the unknown parameter "${name}": use ${parameters.join(' or ')}`);
  }
  const requested = url.searchParams.get('starttls') ?? undefined;
  const mode = starttls.find(each => each === requested);
  if (requested !== undefined && !mode) mistakes.push(`has starttls=${requested}: use one of ${starttls.join(', ')}`);
  const user = decode(url.username);
  const password = decode(url.password);
  if (user === undefined || password === undefined) {
    mistakes.push('has a user or password with invalid percent-encoding: write % as %25');
  } else if ((user === '') !== (password === ''))
    mistakes.push('has only one of user and password: set both or neither');
  if (mistakes.length > 0) return { mistakes };
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    ...(url.port && { port: Number(url.port) }),
    secure: url.protocol === 'smtps:',
    ...(mode && { starttls: mode }),
    ...(user && { user, password }),
    from,
  };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
