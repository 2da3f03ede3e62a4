/** Routes of the console. Each page is loaded when it is first opened; paths.ts builds the links, areas.ts lists most pages. */
import { Button, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { createBrowserRouter, Navigate, Outlet } from 'react-router';
import { areas } from './areas.ts';
import { AuthLayout } from './components/auth-layout.tsx';
import { MovedOrganizations } from './components/moved-organizations.tsx';
import { NotFound, RouteError } from './components/route-error.tsx';
import { Loading } from './components/states.tsx';
import { lastOrganizationKey, to } from './paths.ts';
import { RequireSession, useSession } from './session.tsx';
import { texts } from './texts/common.ts';
import { NewOrganization } from './welcome/new-organization.tsx';

type Module = { default: React.ComponentType };
const page = (load: () => Promise<Module>) => async () => ({ Component: (await load()).default });

/** Pages below /o/:org/: those of areas.ts, also below `p/:prj/` if projects have them, and others. */
const organizationPages = [
  ...areas.flatMap(({ path, page: own, pages = {}, isOfProject }) =>
    Object.entries({ [path]: own, ...pages }).flatMap(([at, load]) =>
      (isOfProject ? ['', 'p/:prj/'] : ['']).map(prefix => ({ path: `${prefix}${at}`, lazy: page(load) })),
    ),
  ),
  { path: 'account', lazy: page(() => import('./pages/account/account.tsx')) },
  { path: 'p/:prj/a/:app/e/:evt', lazy: page(() => import('./pages/event.tsx')) },
  { path: 'p/:prj/a/:app/e/:evt/n/:notification', lazy: page(() => import('./pages/notification.tsx')) },
  { path: 'p/:prj/lists/:pk', lazy: page(() => import('./pages/lists/list.tsx')) },
  { path: 'p/:prj/lists/:pk/import', lazy: page(() => import('./pages/lists/import.tsx')) },
];

const loadFrame = async () => {
  const frame = await import('./frame.tsx');
  preloadPages().catch(() => undefined);
  return frame;
};

/** Loads the code of all pages while the browser is idle, about 250 kB: they open at once, also when the connection is lost. */
async function preloadPages(): Promise<void> {
  for (const { lazy } of organizationPages) {
    // Safari has no idle callbacks.
    await new Promise<unknown>(resolve => (window.requestIdleCallback ?? setTimeout)(resolve));
    if (!navigator.onLine) return;
    await lazy();
  }
}

export const router = createBrowserRouter([
  {
    ErrorBoundary: RouteError,
    HydrateFallback: Loading,
    children: [
      { path: '/sign-in', lazy: page(() => import('./pages/sign-in.tsx')) },
      { path: '/forgot-password', lazy: page(() => import('./pages/forgot-password.tsx')) },
      { path: '/reset-password/:token', lazy: page(() => import('./pages/reset-password.tsx')) },
      { path: '/invite/:token', lazy: page(() => import('./pages/invite.tsx')) },
      {
        element: (
          <RequireSession>
            <Outlet />
          </RequireSession>
        ),
        children: [
          { path: '/', element: <Start page={to.overview} /> },
          // Where the installed app starts: see manifest.webmanifest.
          { path: '/o', element: <Start page={to.pager} /> },
          {
            lazy: page(loadFrame),
            children: [
              {
                // Inside the frame, so that the navigation stays available.
                ErrorBoundary: RouteError,
                children: [
                  { path: '/o/:org', children: organizationPages },
                  { path: '*', Component: NotFound },
                ],
              },
            ],
          },
        ],
      },
    ],
  },
]);

/** Redirects to a page of the last opened organization, otherwise to the first one. */
function Start({ page }: { page: (org: string) => string }) {
  const { account, organizations } = useSession();
  const [creating, setCreating] = useState(false);
  const last = localStorage.getItem(lastOrganizationKey);
  const organization = organizations.find(({ slug }) => slug === last) ?? organizations[0];
  if (organization) return <Navigate to={page(organization.slug)} replace />;
  return (
    <AuthLayout title={texts.noOrganizationYet}>
      <MovedOrganizations />
      {account.admin ? (
        <Stack gap="sm">
          <Text size="sm">{texts.createAnOrganizationToGetStarted}</Text>
          <Button fullWidth onClick={() => setCreating(true)}>
            {texts.newOrganization}
          </Button>
          {creating && <NewOrganization close={() => setCreating(false)} />}
        </Stack>
      ) : (
        <Text size="sm">{texts.notAMember}</Text>
      )}
    </AuthLayout>
  );
}
