/** Finds mistakes in SMTP settings that a schema cannot describe, before a message is sent with them. */
import type { Static } from 'typebox';
import { canSign, type DkimKeyType, damagedKey, readDkimKey } from '../../../core/mail-domain/dkim-key.ts';
import { readDomain } from '../../../core/mail-domain/lookups.ts';
import type { SettingMistake } from '../../provider.ts';
import { findOAuth2Mistakes } from './oauth2.ts';
import type { SmtpSettings } from './settings.ts';

export function findSmtpMistakes(settings: Partial<Static<typeof SmtpSettings>>): SettingMistake[] {
  return [...findPasswordMistakes(settings), ...findOAuth2Mistakes(settings), ...findDkimMistakes(settings)];
}

function findPasswordMistakes({
  user,
  password,
  oauth2_service,
}: Partial<Static<typeof SmtpSettings>>): SettingMistake[] {
  if (user === undefined || password !== undefined || oauth2_service !== undefined) return [];
  return [{ field: 'password', message: 'is required together with user', missing: true }];
}

function* findDkimMistakes(settings: Partial<Static<typeof SmtpSettings>>): Iterable<SettingMistake> {
  const { dkim_domain, dkim_selector, dkim_private_key, dkim_ed25519_selector, dkim_ed25519_private_key } = settings;
  if (dkim_domain !== undefined && readDomain(dkim_domain) === undefined)
    yield { field: 'dkim_domain', message: 'must be a domain such as acme.test' };
  yield* findKeyMistakes('dkim_private_key', dkim_private_key, 'rsa');
  yield* findKeyMistakes('dkim_ed25519_private_key', dkim_ed25519_private_key, 'ed25519');
  if (dkim_selector !== undefined && dkim_selector.toLowerCase() === dkim_ed25519_selector?.toLowerCase())
    yield {
      field: 'dkim_ed25519_selector',
      message: 'must differ from dkim_selector: each key has its own DNS record',
    };
}

function* findKeyMistakes(field: string, pem: string | undefined, wanted: DkimKeyType): Iterable<SettingMistake> {
  // It may be null, to remove it.
  if (!pem) return;
  const read = readDkimKey(pem);
  if ('mistake' in read) yield { field, message: read.mistake };
  else if (read.type !== wanted) yield { field, message: otherKind[wanted] };
  else if (!canSign(read.key)) yield { field, message: damagedKey };
}

const otherKind: Record<DkimKeyType, string> = {
  rsa: 'is an Ed25519 key, which Gmail and Outlook do not verify: enter an RSA key here, and this one as dkim_ed25519_private_key',
  ed25519: 'is an RSA key: enter it as dkim_private_key',
};
