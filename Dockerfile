# gait on its own Debian. Of an image for trainings, see docs/howto/install.md.
FROM debian:bookworm
COPY . /src/gait
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates make
RUN make -C /src/gait install && rm -rf /src/gait /var/lib/apt/lists/*
ENTRYPOINT ["gait"]
