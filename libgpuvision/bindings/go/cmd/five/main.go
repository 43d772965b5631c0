// SPDX-License-Identifier: BSD-2-Clause

// Five runs five algorithms on a picture: five PICTURE FOLDER. PICTURE is a binary PGM or PPM of 8
// bits without comments; what the algorithms make of it is written into FOLDER.
package main

import (
	"errors"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"gpuvision"
)

var header = regexp.MustCompile(`^P([56])[\s\v]+(\d+)[\s\v]+(\d+)[\s\v]+0*255[\s\v]`)

var errFormat = errors.New("not a binary PGM or PPM of 8 bits without comments")

func load(path string) (*gpuvision.Image, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.New("cannot be opened")
	}
	match := header.FindSubmatch(file)
	if match == nil {
		return nil, errFormat
	}
	format := gpuvision.FormatGray8
	if match[1][0] == '6' {
		format = gpuvision.FormatRGB8
	}
	wide, errWidth := strconv.ParseInt(string(match[2]), 10, 32)
	high, errHeight := strconv.ParseInt(string(match[3]), 10, 32)
	if errWidth != nil || errHeight != nil {
		return nil, errFormat
	}
	width, height := int(wide), int(high)
	size, err := gpuvision.ImageBytes(format, width, height, 0)
	if err != nil {
		return nil, fmt.Errorf("a picture of %d x %d pixels is not possible", width, height)
	}
	pix := file[len(match[0]):]
	if len(pix) < size {
		return nil, errors.New("ends before its last pixel")
	}
	return gpuvision.Wrap(format, width, height, pix, 0)
}

func save(folder, name string, picture *gpuvision.Image) error {
	kind, extension := 5, ".pgm"
	if picture.Format() == gpuvision.FormatRGB8 {
		kind, extension = 6, ".ppm"
	}
	file := fmt.Appendf(nil, "P%d\n%d %d\n255\n", kind, picture.Width(), picture.Height())
	return os.WriteFile(filepath.Join(folder, name+extension), append(file, picture.Pix(0)...),
		0o666)
}

// five is a context, a picture, and what has been made of it.
type five struct {
	context *gpuvision.Context
	src     *gpuvision.Image
	names   []string
	made    []*gpuvision.Image
	report  strings.Builder
}

func (f *five) picture(name string, format gpuvision.Format) (*gpuvision.Image, error) {
	picture, err := gpuvision.NewImage(format, f.src.Width(), f.src.Height())
	f.names = append(f.names, name)
	f.made = append(f.made, picture)
	return picture, err
}

func (f *five) say(format string, arguments ...any) {
	fmt.Fprintf(&f.report, format, arguments...)
}

func (f *five) erode() error {
	params := gpuvision.DefaultErodeParams()
	params.Shape = gpuvision.ErodeShapeEllipse
	params.Radius = 2
	erode, err := gpuvision.NewErode(f.context, &params)
	if err != nil {
		return err
	}
	defer erode.Close()
	dst, err := f.picture("erode", f.src.Format())
	if err != nil {
		return err
	}
	if err := erode.Run(f.src, dst); err != nil {
		return err
	}
	f.say("erode     ellipse of radius %d\n", params.Radius)
	return nil
}

func (f *five) ccl() error {
	params := gpuvision.DefaultCclParams()
	params.Threshold = 128
	params.MinArea = 16
	params.Output = gpuvision.CclOutputColors
	ccl, err := gpuvision.NewCcl(f.context, &params)
	if err != nil {
		return err
	}
	defer ccl.Close()
	dst, err := f.picture("ccl", gpuvision.FormatRGB8)
	if err != nil {
		return err
	}
	components := make([]gpuvision.Component, 1024)
	result, err := ccl.Run(f.src, dst, components)
	if errors.Is(err, gpuvision.ErrTooSmall) {
		components = make([]gpuvision.Component, result.Count)
		result, err = ccl.Run(f.src, dst, components)
	}
	if err != nil {
		return err
	}
	f.say("ccl       %d components", result.Count)
	if result.Count > 0 {
		largest := components[0]
		for _, component := range components[:result.Components] {
			if component.Area > largest.Area {
				largest = component
			}
		}
		f.say(", the largest has %d pixels, from %d,%d to %d,%d", largest.Area, largest.Left,
			largest.Top, largest.Right, largest.Bottom)
	}
	f.say("\n")
	return nil
}

func (f *five) kmeans() error {
	params := gpuvision.DefaultKmeansParams()
	params.Clusters = 4
	kmeans, err := gpuvision.NewKmeans(f.context, &params)
	if err != nil {
		return err
	}
	defer kmeans.Close()
	dst, err := f.picture("kmeans", f.src.Format())
	if err != nil {
		return err
	}
	result, err := kmeans.Run(f.src, nil, dst)
	if err != nil {
		return err
	}
	f.say("kmeans    %d clusters after %d iterations:", result.Clusters, result.Iterations)
	for _, centroid := range result.Centroids {
		f.say(" #%06x", gpuvision.KmeansColorSpaceRGB.Color(centroid))
	}
	f.say("\n")
	return nil
}

func (f *five) sift() error {
	params := gpuvision.DefaultSiftParams()
	params.MaxFeatures = 200
	sift, err := gpuvision.NewSift(f.context, &params)
	if err != nil {
		return err
	}
	defer sift.Close()
	keypoints := make([]gpuvision.Keypoint, params.MaxFeatures)
	result, err := sift.Run(f.src, nil, keypoints, nil)
	if err != nil {
		return err
	}
	dst, err := f.picture("sift", f.src.Format())
	if err != nil {
		return err
	}
	copy(dst.Pix(0), f.src.Pix(0))
	if err := sift.Draw(dst, gpuvision.DrawStyleRich, 0xff4000); err != nil {
		return err
	}
	f.say("sift      %d keypoints", result.Count)
	if result.Count > 0 {
		f.say(", the strongest at %.2f,%.2f", keypoints[0].X, keypoints[0].Y)
	}
	f.say("\n")
	return nil
}

func (f *five) graphcut() error {
	params := gpuvision.DefaultSegmentParams()
	params.Certificate = true
	segment, err := gpuvision.NewSegment(f.context, &params)
	if err != nil {
		return err
	}
	defer segment.Close()
	dst, err := f.picture("graphcut", f.src.Format())
	if err != nil {
		return err
	}
	x, y := f.src.Width()/8, f.src.Height()/8
	rect := image.Rect(x, y, f.src.Width()-x, f.src.Height()-y)
	result, err := segment.Run(f.src, gpuvision.SegmentImages{Rect: &rect, Dst: dst})
	if err != nil {
		return err
	}
	f.say("graphcut  %d pixels of the foreground, flow %d, cut %d\n", result.Area, result.Flow,
		result.Cut)
	return nil
}

func isIn(path, folder string) bool {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	parent, errParent := os.Stat(filepath.Dir(path))
	there, errThere := os.Stat(folder)
	return errParent == nil && errThere == nil && os.SameFile(parent, there)
}

func run(path, folder string) error {
	src, err := load(path)
	if err != nil {
		return err
	}
	if isIn(path, folder) {
		return errors.New("is in the folder for the results; name another folder")
	}
	context, err := gpuvision.NewContext(nil)
	if err != nil {
		return err
	}
	defer context.Close()
	f := five{context: context, src: src}
	f.say("%d x %d pixels, on %s\n", src.Width(), src.Height(), context.DeviceName())
	for _, algorithm := range []func() error{f.erode, f.ccl, f.kmeans, f.sift, f.graphcut} {
		if err := algorithm(); err != nil {
			return err
		}
	}
	if err := os.Mkdir(folder, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for i, picture := range f.made {
		if err := save(folder, f.names[i], picture); err != nil {
			return err
		}
	}
	fmt.Print(f.report.String())
	return nil
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: five PICTURE FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
