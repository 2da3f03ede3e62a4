/** Frame around every page: header, navigation, palette, shortcuts. */
import { ActionIcon, Anchor, AppShell, Box, Burger, Group, Kbd, Text, Tooltip, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import { Link, Outlet, ScrollRestoration, useLocation } from 'react-router';
import { areaAt, navigation, pathOf } from './areas.ts';
import { AccountMenu } from './components/account-menu.tsx';
import { MovedOrganizations } from './components/moved-organizations.tsx';
import { Page } from './components/page.tsx';
import { SchemeToggle } from './components/scheme-toggle.tsx';
import { useShortcuts } from './components/shortcuts.tsx';
import { Loading } from './components/states.tsx';
import { OrganizationSwitcher, ProjectSwitcher } from './components/switchers.tsx';
import { lastOrganizationKey, to, useOrg, useProject } from './paths.ts';
import { useCan, useOrganization, useSession } from './session.tsx';
import { texts } from './texts/common.ts';

const Responses = lazy(() => import('./pages/pager/responses.tsx'));
const Palette = lazy(() => import('./components/palette.tsx'));
const TwoFactor = lazy(async () => ({ default: (await import('./pages/account/two-factor.tsx')).TwoFactor }));
const mod = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl';

export default function Frame() {
  const [opened, { toggle, close }] = useDisclosure();
  const { pathname } = useLocation();
  const org = useOrg();
  const { account } = useSession();
  const own = useOrganization();
  const locked = own?.two_factor_required && !account.two_factor;
  // No data of an organization is requested until its two-factor requirement is met.
  const organization = locked ? undefined : own;
  // The palette is loaded on first use and then kept.
  const [palette, setPalette] = useState(0);
  const search = () => setPalette(count => count + 1);
  useShortcuts({ search });
  const usesPager = Boolean(navigator.serviceWorker?.controller) || pathname === to.pager(org);
  const slug = organization?.slug;
  useEffect(() => {
    if (slug) localStorage.setItem(lastOrganizationKey, slug);
  }, [slug]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the mobile navigation closes after each navigation
  useEffect(close, [pathname]);

  return (
    <AppShell header={{ height: 50 }} navbar={{ width: 216, breakpoint: 'sm', collapsed: { mobile: !opened } }}>
      <a href="#main" className="skip">
        {texts.skipToContent}
      </a>
      <AppShell.Header bg="var(--ground)">
        <Group h="100%" px="md" gap="xs" wrap="nowrap">
          <Burger
            opened={opened}
            onClick={toggle}
            hiddenFrom="sm"
            size="sm"
            aria-label={texts.navigation}
            aria-expanded={opened}
          />
          <UnstyledButton
            component={Link}
            to={organization ? to.overview(org) : '/'}
            aria-label={texts.belfryGoToTheOverview}
          >
            <img src="/belfry.svg" alt="" width={24} height={24} style={{ display: 'block' }} />
          </UnstyledButton>
          <Group gap={2} wrap="nowrap" miw={0} ml={4}>
            <OrganizationSwitcher />
            {organization && (
              <Box visibleFrom="sm">
                <ProjectSwitcher />
              </Box>
            )}
          </Group>
          <Group ml="auto" gap={6} wrap="nowrap">
            {organization && <SearchButton search={search} />}
            <SchemeToggle />
            <AccountMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar bg="var(--ground)" p="xs" aria-label={texts.pages}>
        {organization && (
          <Box hiddenFrom="sm" mb="xs">
            <ProjectSwitcher />
          </Box>
        )}
        {organization && <Navigation />}
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1} style={{ outline: 'none' }}>
        <Box p={{ base: 'md', md: 'lg' }} pb={64}>
          {locked && <RequiredTwoFactor name={own.name} />}
          {/* Others have none. */}
          <Suspense>{organization && usesPager && <Responses />}</Suspense>
          {!locked && (organization || !org ? <Outlet /> : <NoAccess org={org} />)}
        </Box>
      </AppShell.Main>
      <ScrollRestoration getKey={location => location.pathname} />
      <Suspense>{palette > 0 && organization && <Palette key={org} openCount={palette} />}</Suspense>
    </AppShell>
  );
}

function Navigation() {
  const org = useOrg();
  const can = useCan();
  const { pathname } = useLocation();
  const [project] = useProject();
  const current = areaAt(pathname, org);
  return (
    <Box style={{ overflowY: 'auto' }} flex={1}>
      {navigation.map(({ title, areas }) => {
        const allowed = areas.filter(area => can(area.permission));
        if (allowed.length === 0) return null;
        return (
          <Box key={title ?? ''} mb="md">
            {title && (
              <Text size="xs" c="dimmed" px={10} mb={4} fw={500}>
                {title}
              </Text>
            )}
            {allowed.map(area => (
              <Link
                key={area.label}
                to={pathOf(area, org, project)}
                className="navlink"
                aria-current={area === current ? 'page' : undefined}
              >
                <area.icon size={17} stroke={1.6} aria-hidden />
                {area.label}
              </Link>
            ))}
          </Box>
        );
      })}
    </Box>
  );
}

function SearchButton({ search }: { search: () => void }) {
  return (
    <>
      <UnstyledButton
        className="card"
        onClick={search}
        visibleFrom="sm"
        px="xs"
        h={30}
        w={220}
        aria-keyshortcuts="Control+K Meta+K"
      >
        <Group gap={8} wrap="nowrap" c="dimmed">
          <IconSearch size={14} stroke={1.8} aria-hidden />
          <Text size="sm" flex={1} inherit>
            {texts.search}
          </Text>
          <Kbd size="xs">{mod} K</Kbd>
        </Group>
      </UnstyledButton>
      <Tooltip label={texts.search}>
        <ActionIcon variant="subtle" color="gray" onClick={search} hiddenFrom="sm" aria-label={texts.search}>
          <IconSearch size={18} stroke={1.6} />
        </ActionIcon>
      </Tooltip>
    </>
  );
}

/** Shown when the organization requires two-factor authentication and the account has none. */
function RequiredTwoFactor({ name }: { name: string }) {
  return (
    <Page title={texts.setUpTwoFactorAuthentication} description={texts.twoFactorRequired(name)}>
      <Box maw={640}>
        <Suspense fallback={<Loading />}>
          <TwoFactor />
        </Suspense>
      </Box>
    </Page>
  );
}

function NoAccess({ org }: { org: string }) {
  const { organizations } = useSession();
  return (
    <Page title={texts.noAccessTo(org)} description={texts.organizationNotFound}>
      {organizations.map(({ slug, name }) => (
        <div key={slug}>
          <Anchor component={Link} to={to.overview(slug)}>
            {name}
          </Anchor>
        </div>
      ))}
      <MovedOrganizations />
    </Page>
  );
}
