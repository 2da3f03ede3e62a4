/** Takes in mails to sources, as the requests of any other sender. */
import { AppError } from '../../../core/errors.ts';
import type { MailRefusal } from '../../../core/feedback/mail-messages.ts';
import type { SourceRequest } from '../../../core/sources/alert.ts';
import type { Letter } from '../../../core/sources/letter.ts';
import { type MailedSource, tokenMarkOf } from '../../../core/sources/mail-address.ts';
import { findSource } from '../../../db/history/sources/sources.ts';
import { requireHere } from '../../configuration/paths/moves.ts';
import { openSourceSecrets } from '../../configuration/source-secrets.ts';
import type { Deps } from '../../deps.ts';
import { SignedDocuments } from '../feedback/requests.ts';
import { actorOf, receive } from './ingress.ts';

/** Returns how the mail is refused; undefined: it is stored and judged. */
export async function receiveLetter(
  ...[deps, source, letter, session]: Parameters<typeof takeLetter>
): ReturnType<typeof takeLetter> {
  try {
    const refusal = await takeLetter(deps, source, letter, session);
    deps.calls.add(source.organizationId, !refusal ? 'taken' : refusal.code < 500 ? 'failed' : 'refused');
    return refusal;
  } catch (error) {
    deps.calls.add(source.organizationId, 'failed');
    throw error;
  }
}

async function takeLetter(
  deps: Deps,
  { organizationId, sourceId, tokenMark }: MailedSource,
  letter: Letter,
  { origin, session }: { origin: string; session: string },
): Promise<MailRefusal | undefined> {
  const source = await findSource(deps.db, organizationId, sourceId);
  const token = source && openSourceSecrets(deps.cipher, organizationId, source).token;
  if (!source || tokenMarkOf(token!) !== tokenMark) return refuse(550, '5.1.1 not the address of a source any more');
  await requireHere(deps, { id: organizationId });
  const request: SourceRequest = {
    ...{ method: 'POST', url: '/mail/', headers: {}, contentType: 'application/json' },
    bytes: Buffer.from(JSON.stringify(letter)),
  };
  const options = { documents: new SignedDocuments(deps.outbound), byKey: true };
  try {
    const own = { ...deps, actor: actorOf(source, origin, session) };
    const { state, limited, results } = await receive(own, source, request, options);
    if (limited !== undefined && limited !== 'accept') return refuse(451, '4.7.1 a limit is reached: try again later');
    return state === 'rejected' ? refuse(554, `5.6.0 ${results[0]?.error}`) : undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.code === 'source.refused') return refuse(550, `5.7.1 ${error.message}`);
    if (error.code === 'request.malformed') return refuse(554, `5.6.0 ${error.message}`);
    throw error;
  }
}

/** A reply is a line of ASCII. */
function refuse(code: number, text: string): MailRefusal {
  return { code, text: text.replaceAll(/[^ -~]+/g, '?').slice(0, 300) };
}
