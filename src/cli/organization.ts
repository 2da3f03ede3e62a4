import { AppError } from '../core/errors.ts';
import { abortMove, forgetOrganization, moveOrganization } from '../services/operations/organization-moves.ts';
import { flag, onlyOf, readArguments, string } from './arguments.ts';
import { type Command, requireDatabaseHere, type Terminal, usageError } from './command.ts';

export const organization: Command = {
  name: 'organization',
  usage: 'move SLUG --to URL [--json] | move SLUG --abort [--json] | move SLUG --forget [--json]',
  summary: 'Move an organization to another cell, which is a Belfry with its own database.',
  details: `Copies everything of the organization, also what waits to be sent, while it works on. For the last second or two, its requests
are answered with 503 and Retry-After. From then on the other cell sends, and this one answers with 307 and the new address.

--to URL  The public URL of the other cell.
--abort   End a move that is not complete. The organization stays here, and what was copied is deleted.
--forget  Delete what this cell still has of an organization that has moved.
--json    Print the result as JSON.

Run it with the settings of this cell, and set these for the other one:

BELFRY_TARGET_DATABASE_URL  its PostgreSQL itself, without a connection pooler
BELFRY_TARGET_SECRET_KEY    its BELFRY_SECRET_KEY: credentials are encrypted with it

If the command is interrupted, the organization goes on here within seconds: run it again to continue, or --abort. Both cells
need the same version and a different BELFRY_CELL. See docs/guides/many-cells.md.`,
  examples: [
    'belfry organization move acme --to https://cell2.example.com',
    'belfry organization move acme --abort',
    'belfry organization move acme --forget',
  ],
  async run([action, ...args], terminal) {
    if (action !== 'move') throw usageError('choose move: see `belfry help organization`');
    const { values, positionals } = readArguments(args, { to: string, abort: flag, forget: flag, json: flag });
    const slug = onlyOf(positionals, 'name one organization: belfry organization move SLUG --to URL');
    if ([values.to, values.abort, values.forget].filter(Boolean).length !== 1) {
      throw usageError('choose one of --to URL, --abort and --forget');
    }
    requireDatabaseHere(terminal);
    const print = (text: string, result: object) => terminal.print(values.json ? JSON.stringify(result) : text);
    await terminal.withDatabase(async sourceUrl => {
      if (values.forget) {
        await forgetOrganization({ slug, sourceUrl });
        return print(`Deleted what was left of ${slug}.`, { forgotten: slug });
      }
      if (values.abort) {
        const wasMoving = await abortMove({ slug, sourceUrl, targetUrl: targetUrlOf(terminal) });
        return print(wasMoving ? `Aborted. ${slug} stays here.` : `${slug} is not moving.`, { aborted: wasMoving });
      }
      const { url, refusedMs, withoutPasskey } = await terminal.withDeps(deps =>
        moveOrganization(deps, {
          slug,
          sourceUrl,
          targetUrl: targetUrlOf(terminal),
          targetKey: targetKeyOf(terminal),
          url: originOf(values.to!),
          onProgress: text => values.json || terminal.print(text),
        }),
      );
      const pause =
        refusedMs === undefined ? '' : ` Its requests were refused for ${(refusedMs / 1_000).toFixed(1)} s.`;
      const passkeys =
        withoutPasskey.length === 0
          ? ''
          : `\nPasskeys of these members do not work at ${url}; they sign in with a recovery code: ${withoutPasskey.join(', ')}`;
      print(`${slug} has moved to ${url}.${pause}${passkeys}`, {
        moved: slug,
        url,
        refused_ms: refusedMs ?? null,
        without_passkey: withoutPasskey,
      });
    });
  },
};

/** Returns the URL without a path, as it precedes the paths of requests. */
function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.pathname !== '/' || url.search || url.hash) {
    throw usageError('--to must be the public URL of the other cell, such as https://cell2.example.com');
  }
  return url.origin;
}

function targetUrlOf({ env }: Terminal): string {
  const url = env.BELFRY_TARGET_DATABASE_URL?.trim();
  if (url && /^postgres(ql)?:\/\//.test(url)) return url;
  throw new AppError('config.invalid', 'BELFRY_TARGET_DATABASE_URL must be the PostgreSQL URL of the other cell');
}

function targetKeyOf({ env }: Terminal): string {
  const key = env.BELFRY_TARGET_SECRET_KEY?.trim();
  if (key && key.length >= 32) return key;
  throw new AppError('config.invalid', 'BELFRY_TARGET_SECRET_KEY must be the BELFRY_SECRET_KEY of the other cell');
}
