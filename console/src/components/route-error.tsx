/** Error page of a route: the error, the request ID and a link to continue. */
import { Anchor, Code } from '@mantine/core';
import { useEffect } from 'react';
import { isRouteErrorResponse, Link, useLocation, useNavigate, useRouteError } from 'react-router';
import { texts } from '../texts/common.ts';
import { Page } from './page.tsx';
import { Failure } from './states.tsx';

const reloadKey = 'belfry-reloaded-at';
/** Another failure within this time of a reload does not reload again. */
const reloadAgainMs = 20_000;

/** Detects that an update removed the files of an open tab, which then has to reload. */
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
