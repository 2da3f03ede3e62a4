/**
 * Refuses requests for organizations that another cell owns, or is about to. While an organization moves, requests are
 * answered with 503 for a few seconds; after it has left, with 307 and its new address.
 */
import { AppError } from '../../../core/errors.ts';
import { sqlState } from '../../../db/connection/pool.ts';
import type { KnownMove } from '../../../db/operations/organization-moves.ts';
import type { Deps } from '../../deps.ts';

type MoveDeps = Pick<Deps, 'tenantCache'>;

/** How the request names the organization. */
type Named = { slug: string } | { id: number } | { feedbackToken: string };

const retryAfterSeconds = 1;

/** Throws unless this cell serves the organization. Synchronous if cached, so that a trigger awaits nothing here. */
export function requireHere({ tenantCache }: MoveDeps, named: Named): void | Promise<void> {
  const moves = tenantCache.listMoves();
  if (moves instanceof Promise) return moves.then(listed => refuse(find(listed, named)));
  if (moves.length > 0) refuse(find(moves, named));
}

/** Returns the URL of the cell that the organization has moved to. */
export async function findNewOrigin({ tenantCache }: MoveDeps, organizationId: number): Promise<string | undefined> {
  const move = find(await tenantCache.listMoves(), { id: organizationId });
  return move && hasLeft(move) ? move.url! : undefined;
}

function find(moves: readonly KnownMove[], named: Named): KnownMove | undefined {
  if ('slug' in named) return moves.find(({ slug }) => slug === named.slug);
  if ('id' in named) return moves.find(({ organization_id }) => organization_id === named.id);
  return moves.find(({ feedback_tokens }) => feedback_tokens.includes(named.feedbackToken));
}

const hasLeft = ({ state }: KnownMove) => state === 'moved' || state === 'left';

function refuse(move: KnownMove | undefined): void {
  if (!move) return;
  if (!hasLeft(move)) throw movingError();
  throw new AppError('organization.moved', `${move.slug} has moved to ${move.url}: send the request there`, {
    origin: move.url!,
  });
}

export function movingError(): AppError {
  return new AppError('organization.moving', 'the organization is moving to another cell: try again in a moment', {
    retryAfterSeconds,
  });
}

/** Returns whether the database refused a change because the organization has just been frozen. */
export function isOrganizationMoving(error: unknown): boolean {
  return sqlState(error) === 'BLF01';
}
