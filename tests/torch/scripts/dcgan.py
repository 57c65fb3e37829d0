# SPDX-License-Identifier: Apache-2.0
"""A GAN as in the DCGAN example: two networks, two optimizers, one batch a step."""

import torch
from plants import SlowGradient, SlowToSave, collect, delay, tell
from torch import nn, optim
from torch.utils.data import DataLoader, default_collate

torch.manual_seed(2)
nz, ngf, batch = 8, 8, 8
real_label, fake_label = 1.0, 0.0


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 80

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randn(1, 16, 16, generator=generator).tanh(), 0


def collate(samples):
    delay("collate")
    return default_collate(samples)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ngf, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(ngf, 1, 8), nn.Sigmoid()
        )

    def forward(self, x):
        delay("forward")
        return SlowGradient.apply(self.main(x).view(-1))


netG = nn.Sequential(
    nn.ConvTranspose2d(nz, ngf, 8), nn.ReLU(), nn.ConvTranspose2d(ngf, 1, 4, 2, 1), nn.Tanh()
)
netD = Discriminator()
criterion = nn.BCELoss()
optimizerD = optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
dataloader = DataLoader(Images(), batch_size=batch, shuffle=True, collate_fn=collate)

steps, losses = 0, []
for epoch in range(2):
    for data, _ in dataloader:
        # (1) maximize log(D(x)) + log(1 - D(G(z)))
        netD.zero_grad()
        label = torch.full((data.size(0),), real_label)
        errD_real = criterion(netD(data), label)
        errD_real.backward()
        noise = torch.randn(data.size(0), nz, 1, 1)
        fake = netG(noise)
        label.fill_(fake_label)
        errD_fake = criterion(netD(fake.detach()), label)
        errD_fake.backward()
        optimizerD.step()
        # (2) maximize log(D(G(z)))
        netG.zero_grad()
        label.fill_(real_label)
        errG = criterion(netD(fake), label)
        errG.backward()
        optimizerG.step()
        collect()
        steps += 1
        losses += [errD_real.item() + errD_fake.item(), errG.item()]
    with torch.no_grad():
        netG(torch.randn(4, nz, 1, 1))
    for net in [netG, netD] * 3:
        torch.save([net.state_dict(), SlowToSave()], f"net_epoch_{epoch}.pth")
tell(steps, losses)
