import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { admin, freshName, withService } from '../harness/index.ts';
import { PASSWORD, signIn, useChromium } from './browser.ts';

const browser = useChromium();

test('by the link of an invitation an account is made; without one the form asks for it, and says what is wrong', async () => {
  await withService({ env: { SZ_REGISTRATION: 'invite' } }, async (service) => {
    const invite = async () => String((await admin(service).post(pathOf('invite'))).json['invite']);
    const given = await invite();
    const { page } = await browser.visit(`${service.url}/#invite=${given}`);
    const fill = async (username: string) => {
      await page.getByLabel('Username').fill(username);
      await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
      await page.getByLabel('Repeat password').fill(PASSWORD);
      await page.getByLabel('Create a recovery key (recommended)').uncheck();
      await page.getByLabel('I’ve saved my password somewhere safe').check();
    };
    const create = () => page.getByRole('button', { name: 'Create an account', exact: true }).click();
    await page.getByLabel('Invitation').waitFor();
    assert.equal(await page.getByLabel('Invitation').inputValue(), given);
    assert.ok(!page.url().includes(given), 'it does not stay in the address');
    const username = freshName();
    await fill(username);
    await create();
    await page.getByRole('heading', { name: 'All files' }).waitFor();

    const { page: other } = await browser.visit(service.url);
    await other.getByRole('button', { name: 'New here? Create an account' }).click();
    await other.getByLabel('Invitation').fill(given);
    await other.getByLabel('Username').fill(freshName());
    await other.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await other.getByLabel('Repeat password').fill(PASSWORD);
    await other.getByLabel('Create a recovery key (recommended)').uncheck();
    await other.getByLabel('I’ve saved my password somewhere safe').check();
    await other.getByRole('button', { name: 'Create an account', exact: true }).click();
    await other.getByText('This invitation isn’t valid').waitFor();
    await other.getByLabel('Invitation').fill(await invite());
    await other.getByRole('button', { name: 'Create an account', exact: true }).click();
    await other.getByRole('heading', { name: 'All files' }).waitFor();

    await admin(service).post(pathOf('disableAccount', { username }));
    const { page: third } = await browser.visit(service.url);
    await signIn(third, username);
    await third.getByText('This account is disabled').waitFor();
  });
});
