/** Error page of a route: the error, the request ID and a link to continue. */
import { Anchor, Code } from '@mantine/core';
import { useEffect } from 'react';
import { isRouteErrorResponse, Link, useLocation, useRouteError } from 'react-router';
import { UnreachableError } from '../api.ts';
import { texts } from '../texts/common.ts';
import { fill } from './fill.tsx';
import { Page } from './page.tsx';
import { Failure } from './states.tsx';

const reloadKey = 'belfry-reloaded-at';
/** A reload that did not help is repeated only after this time. */
const reloadAgainMs = 20_000;

/** Detects that the code of a page could not be loaded: offline, or an update removed the files of an open tab. */
function isMissingCode(error: unknown): boolean {
  return error instanceof Error && /dynamically imported module|Importing a module script failed/i.test(error.message);
}

/** Reloads once the service answers; until then a reload would leave the browser's own error page. */
async function reloadIfReachable(): Promise<void> {
  if (Date.now() - Number(sessionStorage.getItem(reloadKey)) < reloadAgainMs) return;
  const response = await fetch('/belfry.svg', { cache: 'no-store' }).catch(() => undefined);
  if (!response?.ok) return;
  sessionStorage.setItem(reloadKey, String(Date.now()));
  location.reload();
}

export function RouteError() {
  const error = useRouteError();
  const isMissing = isMissingCode(error);
  useEffect(() => {
    if (isMissing) void reloadIfReachable();
  }, [isMissing]);
  if (isRouteErrorResponse(error) && error.status === 404) return <NotFound />;
  return (
    <Page title={texts.somethingWentWrong} documentTitle={texts.error}>
      <Failure
        error={isMissing ? new UnreachableError(texts.serviceUnreachable) : error}
        retry={() => void reloadIfReachable()}
      />
    </Page>
  );
}

export function NotFound() {
  const { pathname } = useLocation();
  return (
    <Page title={texts.pageNotFound}>
      {fill(texts.thereIsNoPageAt, { path: <Code>{pathname}</Code> })}{' '}
      <Anchor component={Link} to="/" inherit underline="always">
        {texts.goToTheOverview}
      </Anchor>
    </Page>
  );
}
