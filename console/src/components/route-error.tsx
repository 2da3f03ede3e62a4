/** Where a page failed: what, which request, and a way on. */
import { Anchor, Code } from '@mantine/core';
import { useEffect } from 'react';
import { isRouteErrorResponse, Link, useLocation, useNavigate, useRouteError } from 'react-router';
import { texts } from '../texts/common.ts';
import { Page } from './page.tsx';
import { Failure } from './states.tsx';

const reloadKey = 'belfry-reloaded-at';
/** A second failure right after a reload is not cured by another. */
const reloadAgainMs = 20_000;

/** After an update the server no longer has the files that an open tab asks for: the tab starts anew. */
function isOutdated(error: unknown): boolean {
  return error instanceof Error && /dynamically imported module|Importing a module script failed/i.test(error.message);
}

export function RouteError() {
  const error = useRouteError();
  const navigate = useNavigate();
  const outdated = isOutdated(error);
  useEffect(() => {
    if (!outdated || Date.now() - Number(sessionStorage.getItem(reloadKey)) < reloadAgainMs) return;
    sessionStorage.setItem(reloadKey, String(Date.now()));
    location.reload();
  }, [outdated]);
  if (isRouteErrorResponse(error) && error.status === 404) return <NotFound />;
  return (
    <Page title={texts.somethingWentWrong} documentTitle={texts.error}>
      <Failure error={error} retry={() => void navigate(0)} />
    </Page>
  );
}

export function NotFound() {
  const { pathname } = useLocation();
  return (
    <Page title={texts.pageNotFound}>
      {texts.thereIsNoPageAt} <Code>{pathname}</Code>.{' '}
      <Anchor component={Link} to="/" inherit underline="always">
        {texts.goToTheOverview}
      </Anchor>
    </Page>
  );
}
